"""The objects that the plugin creates when first used."""

from __future__ import annotations

from hookline_hookspecs import Host

from .breaker import CircuitBreaker
from .config import SemanticConfig
from .embedders import create_embedder
from .indexer import VectorIndexer
from .search import SemanticSearch
from .vector_store import VectorStore


class SemanticParts:
    """The embedder, the vector store, the search and the indexer of one process."""

    def __init__(self, host: Host, config: SemanticConfig) -> None:
        """Raises ``HooklineError`` if the settings name no usable embedder."""
        self.embedder = create_embedder(config, host)
        self.store = VectorStore(host, self.embedder.id)
        self.breaker = CircuitBreaker()
        shared = (host, config, self.embedder, self.store, self.breaker)
        self.search = SemanticSearch(*shared)
        self.indexer = VectorIndexer(*shared)
