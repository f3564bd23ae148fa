"""The commands ``hookline bundles …``."""
