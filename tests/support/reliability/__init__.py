"""Gateways that are killed, starved and flooded: nothing is lost, and nothing is said twice.

``PYTHONPATH=tests python -m support.reliability.run SCENARIO [--long]``; ``docs/reliability.md``
explains them.
"""
