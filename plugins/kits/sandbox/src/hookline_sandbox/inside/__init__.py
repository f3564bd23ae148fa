"""Runs inside the sandbox before the program. Uses only the standard library."""
