"""Guarded access to the network (``host.http``) and to files (``host.paths``)."""
