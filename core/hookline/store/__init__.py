"""Stores sessions, the journal and the plugins' tables. The default store is SQLite."""
