"""An embeddings server, and a plugin with texts to search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Host, Plugin, SearchableCorpus, SemanticIndex, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_semantic import Semantic
from support.embeddings import Embeddings, embeddings


class Texts:
    """Texts of several chats, by key."""

    name = "memory"

    def __init__(self) -> None:
        self.texts: dict[str, tuple[str, str]] = {}

    async def entries(self) -> list[tuple[str, str, str]]:
        """Every one of them."""
        return [(key, scope, text) for key, (scope, text) in self.texts.items()]


class Notes(Plugin[NoConfig]):
    """Has texts that are compared by meaning."""

    def __init__(self, config: NoConfig, host: Host) -> None:
        super().__init__(config, host)
        self.held = Texts()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Offer them."""
        host.services.add(SearchableCorpus, self.held)

    async def nearest(self, text: str, scope: str | None = None) -> dict[str, float]:
        """The entries nearest to a text."""
        likeness = self.host.services[SemanticIndex]
        return await likeness.nearest("memory", text, scope=scope)


class SemanticProcess:
    """A process whose notes are compared by meaning."""

    def __init__(self, home: Path, **config: Any) -> None:
        settings = {"notes": {}, "semantic": {"patience": 10, **config}}
        self.harness = Harness(Semantic, Notes, home=home, config=settings)
        self.harness.run(self.harness.aopen())
        self._plugin = self.harness.plugin(Notes)
        self.notes = self._plugin.held

    def near(self, text: str, scope: str | None = None) -> dict[str, float]:
        """The entries nearest to a text."""
        return self.harness.run(self._plugin.nearest(text, scope))

    def fill(self) -> Any:
        """``hookline semantic fill``."""
        return self.harness.cli("semantic fill")


@pytest.fixture
def server() -> Iterator[Embeddings]:
    """A server with ``/embeddings``."""
    with embeddings() as held:
        yield held


@pytest.fixture
def open_process(tmp_path: Path, server: Embeddings) -> Iterator[Callable[..., SemanticProcess]]:
    """Open processes on one home."""
    made: list[SemanticProcess] = []

    def opened(**config: Any) -> SemanticProcess:
        asked = {"base_url": f"{server.url}/v1", "model": "meaning-1", **config}
        made.append(SemanticProcess(tmp_path, **asked))
        return made[-1]

    yield opened
    server.gate.set()
    for one in made:
        one.harness.close()
