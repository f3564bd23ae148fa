"""Processes that are killed, and what they leave behind."""
