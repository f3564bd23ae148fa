"""What the pages of one chat share: settings, cookies, proxy pass, and passwords to mask."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from .config import BrowserConfig
from .proxy import ProxyPass

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

MAX_SECRETS = 100


class ChatScope:
    """State of one chat. ``secrets`` are the values of password fields."""

    context: BrowserContext
    proxy_pass: ProxyPass

    def __init__(self, config: BrowserConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.secrets: OrderedDict[str, None] = OrderedDict()

    def remember(self, secret: str) -> None:
        """Mask ``secret`` from now on."""
        if secret:
            self.secrets[secret] = None
            while len(self.secrets) > MAX_SECRETS:
                self.secrets.popitem(last=False)
