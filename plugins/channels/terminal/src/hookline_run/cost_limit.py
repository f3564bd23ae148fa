"""The limit of ``--max-cost``: ends the turn before the next model call once it is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hookline_hookspecs import CommandError, ModelRequest, ModelResponse, OverBudget, Usage
from hookline_hookspecs.prices import Prices

CallNext = Callable[[ModelRequest], Awaitable[ModelResponse]]
UNKNOWN_PRICE = (
    "the price of {model} is unknown, so --max-cost could not hold. Set it under "
    "`plugins: insights: prices:` in config.yaml"
)


class CostLimit:
    """Adds up what the model calls of this process cost, sub-agents and reviews included.

    A call whose price is unknown is refused, since the limit would not hold. The call that
    reaches the limit is not cut off.

    Args:
        prices: the prices of models.
        dollars: the limit in US dollars.
    """

    def __init__(self, prices: Prices, dollars: float) -> None:
        self._prices = prices
        self._limit = dollars
        self._spent = 0.0
        self._unmeasured = ""

    def check(self, model: str) -> None:
        """Raise ``CommandError`` if the price of ``provider/model`` is unknown."""
        if not self._is_known(model):
            raise CommandError(UNKNOWN_PRICE.format(model=model))

    async def call(self, request: ModelRequest, call_next: CallNext) -> ModelResponse:
        """Make a model call and add its cost. Raises ``OverBudget`` instead at the limit."""
        if self._spent >= self._limit:
            spent, limit = map(self._prices.format, (self._spent, self._limit))
            raise OverBudget(f"The limit of --max-cost {limit} is reached: {spent} spent.")
        if not self._is_known(request.model):
            text = UNKNOWN_PRICE.format(model=request.model)
            raise OverBudget(f"{text[0].upper()}{text[1:]}.")
        if self._unmeasured:
            raise OverBudget(
                f"{self._unmeasured} does not report the tokens of its answers, so --max-cost "
                "could not hold."
            )
        response = await call_next(request)
        self._add(request.model, response)
        return response

    def _add(self, model: str, response: ModelResponse) -> None:
        usage = response.usage
        cost = self._prices.cost(response.model or model, usage)
        if cost is None:  # the server names a variant of the model
            cost = self._prices.cost(model, usage)
        self._spent += cost or 0.0
        if not (usage.input or usage.output or self._prices.is_free(model)):
            self._unmeasured = model

    def _is_known(self, model: str) -> bool:
        return self._prices.cost(model, Usage(input=1, output=1)) is not None
