"""Homes of other programs, and the commands that import them."""
