"""Processes that are killed, and what they have left."""
