"""Homes of other programs, and the commands that move them in."""
