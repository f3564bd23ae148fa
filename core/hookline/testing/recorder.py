"""Records what the bus did: which hook, which plugin, in which order, the result, the time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import HOOKS, Step

from hookline.bus.bus import Bus

CORE_STEPS = ("model", "tool")
"""Steps that core itself makes: a model call, and the run of a tool."""
SHOWN = 60
"""Characters of an event or a result in :meth:`HookRecorder.table`."""


@dataclass(frozen=True, slots=True)
class HookCall:
    """One implementation's call.

    ``event`` is what it was given beside ``ctx``, ``result`` what it returned (a guard that fails
    has returned a ``Deny``), ``error`` what it raised. ``started`` and ``seconds`` are of
    ``time.perf_counter``. ``kind`` is the hook's.
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
    """What every implementation was given and what it answered, in the order of the calls.

    ``recorder["pre_tool"]`` lists the calls of a hook, ``recorder["model"]`` and
    ``recorder["tool"]`` core's own model calls and tool runs; ``calls`` is all of them. ``fired``
    holds name and event of each hook's signal, also where no plugin implements it. ``setup``,
    ``teardown`` and the ``register_*`` hooks come before and after a turn and are not recorded.
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
        """Record no more, and take every subscription back."""
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
            raise KeyError(f"there is no hook {hook}")
        return [call for call in self.calls if call.hook == hook]

    def order(self) -> list[str]:
        """The hooks in the order in which they fired."""
        return [hook for hook, _ in self.fired]

    def table(self) -> str:
        """A line for each call, for reading: number, hook, plugin, milliseconds, event, answer."""
        return "\n".join(
            f"{number}. {call.hook} of {call.plugin}, {call.seconds * 1000:.1f} ms: "
            f"{_short(call.event)} -> {_short(call.error or call.result)}"
            for number, call in enumerate(self.calls, 1)
        )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
