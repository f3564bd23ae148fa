"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_multimedia import Multimedia

LOCAL = {"base_url": "http://127.0.0.1:9/v1"}


class TestMultimediaContract(PluginContract):
    plugin = Multimedia
    config = LOCAL


class TestBareMultimediaContract(PluginContract):
    plugin = Multimedia
    config = {"image": False, "vision": False, "speech": False, "transcription": False}  # noqa: RUF012
