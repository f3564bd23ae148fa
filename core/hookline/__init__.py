"""Hookline's core: turns, sessions, event bus, plugin loading, config and command line."""

__version__ = "0.1.0"
