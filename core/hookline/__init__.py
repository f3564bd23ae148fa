"""The runtime: turn, sessions, bus, plugin loading, config and command line."""

__version__ = "0.1.0"
