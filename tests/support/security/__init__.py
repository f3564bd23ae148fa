"""A workspace, hosts and tools under attack, and the attacks."""
