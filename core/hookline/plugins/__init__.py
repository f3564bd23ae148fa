"""Finds, loads and sets up plugins, and gives each its host."""
