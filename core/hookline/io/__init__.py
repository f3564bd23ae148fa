"""Guarded access to the network and to files: what plugins reach as ``host.http`` and ``paths``."""
