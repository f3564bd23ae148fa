"""Hookline plugin ``cluster``: gateways and workers on many machines, around one database.

Reached by the entry point ``hookline_cluster:ClusterPlugin``. :mod:`.plugin` is the service
``WorkDistribution``, :mod:`.member` the life of a process in the cluster, :mod:`.queue` wakes a
worker for a chat (procrastinate), :mod:`.lanes` works on one chat after the other,
:mod:`.replies` has replies sent by the gateway that owns their channel, :mod:`.nodes` knows who
is there, and :mod:`.cli` is ``hookline worker`` and ``hookline cluster``.
"""

from .config import ClusterConfig
from .plugin import ClusterPlugin

__all__ = ["ClusterConfig", "ClusterPlugin"]
