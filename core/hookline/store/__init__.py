"""Stores: where sessions, the journal and the plugins' tables live. The default is SQLite."""
