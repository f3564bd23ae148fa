"""Tests about the repository itself: its contract, layering, packaging and documentation."""
