"""The settings of the plugin, under ``plugins: insights:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from .price_list import ModelPrice, TokenRates


class OwnPrice(BaseModel):
    """The price of a model per million tokens, in one currency."""

    model_config = ConfigDict(extra="forbid")

    input: float = Field(ge=0, allow_inf_nan=False, description="Input tokens.")
    output: float = Field(ge=0, allow_inf_nan=False, description="Output tokens.")
    cache_read: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Tokens read from the cache; if left out, as input.",
    )
    cache_write: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Tokens written to the cache; if left out, as input.",
    )
    cache_write_1h: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="Tokens cached for an hour; if left out, as cache_write.",
    )

    def price(self) -> ModelPrice:
        """The price in the form of the lists; it has no date, because the operator maintains it."""
        return ModelPrice(TokenRates(**self.model_dump()), date="")


class InsightsConfig(BaseModel):
    """Prices that are missing or wrong in the lists."""

    prices: dict[str, OwnPrice] = Field(
        default_factory=dict,
        title="Your own prices",
        description=(
            "Your own prices by model, such as {gpt-5: {input: 1.25, output: 10}}; they override "
            "all price lists."
        ),
    )
    currency: str = Field(
        "$", max_length=8, title="Currency sign", description="Currency sign shown before amounts."
    )
