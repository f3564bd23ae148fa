"""Runs a turn from its message to its reply: the loop, model calls and tool calls."""
