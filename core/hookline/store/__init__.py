"""Stores sessions, turns and the plugins' tables. The default store is SQLite."""
