"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_openai_api import OpenAIApi


class TestOpenAIApiContract(PluginContract):
    plugin = OpenAIApi
