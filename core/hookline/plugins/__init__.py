"""Plugins: found, loaded, set up, and what each of them sees of core."""
