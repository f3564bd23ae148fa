"""The parts of the plugin, of one process."""

from __future__ import annotations

from hookline_hookspecs import Host

from .breaker import Breaker
from .comparing import Comparing
from .config import SemanticConfig
from .embedders import embedder
from .filling import Filling
from .kept import Kept


class Parts:
    """Who makes vectors, where they are kept, who fills them in and who compares them."""

    def __init__(self, host: Host, config: SemanticConfig) -> None:
        """Raises ``HooklineError`` if the settings name nobody who makes vectors."""
        self.embedder = embedder(config, host)
        self.kept = Kept(host, self.embedder.id)
        self.breaker = Breaker()
        shared = (host, config, self.embedder, self.kept, self.breaker)
        self.comparing = Comparing(*shared)
        self.filling = Filling(*shared)
