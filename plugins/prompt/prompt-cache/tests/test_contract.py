"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_prompt_cache import PromptCache


class TestPromptCacheContract(PluginContract):
    plugin = PromptCache
