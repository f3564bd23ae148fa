"""The command line: one module for each group of commands; each imports what it needs to run."""
