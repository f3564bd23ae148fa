"""Hookline plugin ``cluster``: gateways and workers on many machines, around one database.

- :mod:`.plugin`: the service ``WorkDistribution``.
- :mod:`.member`: joins this process to the cluster, with its heartbeat and regular checks.
- :mod:`.chat_queue`: the queue of chats that need a worker (procrastinate).
- :mod:`.active_chats`: works on the messages of a chat, in order.
- :mod:`.owned_channels`: sends the replies of the channels that this gateway owns.
- :mod:`.turn_events`: sends what a turn shows while it runs from the worker to the gateway.
- :mod:`.nodes`: the processes in the cluster.
- :mod:`.shared_folder`: the folder with files that all machines share.
- :mod:`.commands`: ``hookline worker`` and ``hookline cluster``.
"""

from .config import ClusterConfig
from .plugin import ClusterPlugin

__all__ = ["ClusterConfig", "ClusterPlugin"]
