"""Servers that speak a real wire on loopback and refuse what the real service refuses."""
