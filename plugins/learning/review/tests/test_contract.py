"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_review import Review


class TestReviewContract(PluginContract):
    plugin = Review
