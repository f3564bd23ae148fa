"""Databases with faults, and a model that goes by the skills."""
