"""Calls plugins: hooks by kind, deadlines, isolation, signals."""
