"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_jobs import Jobs


class TestJobsContract(PluginContract):
    plugin = Jobs
