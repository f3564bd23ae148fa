"""Records the calls of the bus: hook, plugin, order, result and time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import HOOKS, Step

from hookline.bus.bus import Bus

CORE_STEPS = ("model", "tool")
"""Steps of core itself: model calls and tool runs."""
MAX_SHOWN_CHARS = 60
"""Maximum length of an event or result in :meth:`HookRecorder.table`."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One call of a hook implementation.

    ``event`` is the argument besides ``ctx``, ``result`` the returned value (``Deny`` for a guard
    that failed), and ``error`` the raised exception. ``started`` and ``seconds`` are measured with
    ``time.perf_counter``. ``kind`` is the kind of the hook.
    """

    hook: str
    plugin: str
    event: Any
    result: Any
    seconds: float
    error: BaseException | None
    kind: str = ""
    started: float = 0.0


class HookRecorder:
    """The arguments and result of every implementation, in call order.

    ``recorder["pre_tool"]`` lists the calls of a hook, ``recorder["model"]`` and
    ``recorder["tool"]`` core's own model calls and tool runs; ``calls`` is all of them. ``fired``
    holds the name and event of each hook's signal, even if no plugin implements the hook.
    ``setup``, ``teardown`` and the ``register_*`` hooks are called outside turns and not recorded.
    """

    def __init__(self, bus: Bus) -> None:
        self.calls: list[HookCall] = []
        self.fired: list[tuple[str, Any]] = []
        self._bus = bus
        bus.observers.append(self._step)
        self._listeners = {hook: self._listener(hook) for hook in HOOKS}
        for hook, listen in self._listeners.items():
            bus.signals.connect(hook, listen)

    def close(self) -> None:
        """Stop recording and remove every subscription."""
        if self._step in self._bus.observers:
            self._bus.observers.remove(self._step)
        for hook, listen in self._listeners.items():
            self._bus.signals.disconnect(hook, listen)

    def _listener(self, hook: str) -> Callable[..., None]:
        def listen(event: Any, ctx: Any = None) -> None:
            self.fired.append((hook, event))

        return listen

    def _step(self, _ctx: Any, step: Step) -> None:
        self.calls.append(
            HookCall(
                step.hook,
                step.plugin,
                step.event,
                step.result,
                step.seconds,
                step.failure,
                step.kind,
                step.started,
            )
        )

    def __getitem__(self, hook: str) -> list[HookCall]:
        if hook not in HOOKS and hook not in CORE_STEPS:
            raise KeyError(f"unknown hook {hook!r}")
        return [call for call in self.calls if call.hook == hook]

    def order(self) -> list[str]:
        """Return the hooks in the order they fired."""
        return [hook for hook, _ in self.fired]

    def table(self) -> str:
        """Return a readable line per call: number, hook, plugin, milliseconds, event, result."""
        return "\n".join(
            f"{number}. {call.hook} of {call.plugin}, {call.seconds * 1000:.1f} ms: "
            f"{_short(call.event)} -> {_short(call.error or call.result)}"
            for number, call in enumerate(self.calls, 1)
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
