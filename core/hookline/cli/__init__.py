"""The command line: one module per group of commands, each importing only what it needs."""
