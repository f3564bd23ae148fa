"""Gateways that are killed, starved and flooded: nothing is lost, nothing is sent twice.

``PYTHONPATH=tests python -m support.reliability.run SCENARIO [--long]``; ``docs/reliability.md``
explains them.
"""
