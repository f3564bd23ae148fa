"""The config file: read strictly, with the line of every key, and checked into sentences.

Core calls :func:`read` and :func:`parse`, by the entry point ``config`` of the group
``hookline.services``. :mod:`.document` reads YAML, :mod:`.variables` the environment, and
:mod:`.settings` checks values with a pydantic model; :func:`refused` words what that says.
"""

from .reading import Configured, parse, read
from .settings import MISSING, refused

__all__ = ["MISSING", "Configured", "parse", "read", "refused"]
