"""A message stream that shows each message to a function first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio


class ObservedStream:
    """A message stream that passes each message to ``observe`` first."""

    def __init__(self, inner: Any, observe: Callable[[Any], None]) -> None:
        self._inner = inner
        self._observe = observe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        item = await self._inner.receive()
        self._observe(item)
        return item

    def __aiter__(self) -> ObservedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> ObservedStream:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)
