"""What the pages of one chat share: settings, cookies, the way out, the passwords to mask."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from .config import BrowserConfig
from .proxy import Pass

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

MOST_SECRETS = 100


class Scope:
    """What belongs to one chat. ``secrets`` are what stood in password fields."""

    context: BrowserContext
    pass_: Pass

    def __init__(self, config: BrowserConfig, folder: Path) -> None:
        self.config = config
        self.folder = folder
        self.secrets: OrderedDict[str, None] = OrderedDict()

    def remember(self, secret: str) -> None:
        """Mask ``secret`` from now on."""
        if secret:
            self.secrets[secret] = None
            while len(self.secrets) > MOST_SECRETS:
                self.secrets.popitem(last=False)
