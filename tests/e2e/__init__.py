"""The command line from outside: real processes, real files, local model servers."""
