"""The command line: finds the installed commands and opens the runtime that a command needs."""
