"""Gateways that are killed, starved and flooded: nothing is lost, and nothing is said twice.

``PYTHONPATH=tests python -m reliability.run SCENARIO [--long]``; see ``docs/reliability.md``.
"""
