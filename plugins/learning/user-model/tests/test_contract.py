"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_user_model import UserModel


class TestUserModelContract(PluginContract):
    plugin = UserModel
