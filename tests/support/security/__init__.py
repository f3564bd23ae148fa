"""A workspace, hosts and tools to be attacked, and the attacks."""
