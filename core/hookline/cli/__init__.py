"""The command line: the commands that packages bring, and the runtime that a command opens."""
