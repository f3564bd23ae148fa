"""Helpers of the tests: servers on loopback, processes, terminals, homes."""
