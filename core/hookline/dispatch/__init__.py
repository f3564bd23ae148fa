"""Receives messages, runs their turns and delivers replies."""
