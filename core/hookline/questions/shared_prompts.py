"""Calls of this process that ask the same question share one prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Prompt(Generic[T]):
    task: asyncio.Task[T]
    callers: int = 0


class SharedPrompts(Generic[T]):
    """The prompts that run in this process, by question id."""

    def __init__(self) -> None:
        self._running: dict[str, _Prompt[T]] = {}

    async def join(self, question_id: str, begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Wait for the question's prompt, which the first caller begins; return its result.

        The prompt is cancelled once no caller waits for it any more.
        """
        prompt = self._running.get(question_id)
        if prompt is None:
            prompt = self._running[question_id] = _Prompt(asyncio.create_task(begin()))
        prompt.callers += 1
        try:
            return await asyncio.shield(prompt.task)
        finally:
            prompt.callers -= 1
            if not prompt.callers:
                self._running.pop(question_id, None)
                prompt.task.cancel()
                await asyncio.gather(prompt.task, return_exceptions=True)
