"""Hookline plugin ``feishu``: people talk to the agent on Feishu or Lark.

Reached by the entry point ``hookline_feishu:Feishu``. :mod:`.client` is the connection that
``hookline_channelkit`` drives, :mod:`.api` what is asked of the REST API and how its refusals are
understood, :mod:`.socket` the long connection, :mod:`.reading` what an event says, :mod:`.content`
posts and cards.
"""

from __future__ import annotations

from .config import FeishuConfig
from .plugin import Feishu

__all__ = ["Feishu", "FeishuConfig"]
