"""Calls plugins' hooks with deadlines and isolation, and sends signals."""
