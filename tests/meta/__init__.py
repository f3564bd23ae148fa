"""Tests of the repository itself: its contract, layering, packaging and documentation."""
