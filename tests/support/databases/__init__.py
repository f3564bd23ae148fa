"""Databases with known problems, and a model that follows the skills."""
