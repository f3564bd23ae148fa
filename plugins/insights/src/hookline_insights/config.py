"""The settings of the plugin, under ``plugins: insights:`` in ``config.yaml``."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Price(BaseModel):
    """What a model costs, in one currency, per million tokens."""

    input: float = Field(ge=0, description="A million fresh tokens of input.")
    output: float = Field(ge=0, description="A million tokens of output.")


class InsightsConfig(BaseModel):
    """Prices that are not in the list, or not right there."""

    prices: dict[str, Price] = Field(
        default_factory=dict,
        description="Prices by model, such as {gpt-5: {input: 1.25, output: 10}}; they go before "
        "those of the list.",
    )
    currency: str = Field("$", max_length=8, description="The sign before an amount of money.")
