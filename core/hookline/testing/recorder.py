"""Records what the bus did: which hook, which plugin, in which order, with what result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import HOOKS

from hookline.bus import Bus
from hookline.implementations import Implementation


@dataclass(frozen=True, slots=True)
class HookCall:
    """One implementation's call. ``seconds`` is how long it took."""

    hook: str
    plugin: str
    event: Any
    result: Any
    seconds: float
    error: BaseException | None


class HookRecorder:
    """``recorder["pre_tool"]`` lists the calls of a hook; ``fired`` the signals' events."""

    def __init__(self, bus: Bus) -> None:
        self.calls: list[HookCall] = []
        self.fired: list[tuple[str, Any]] = []
        bus.observers.append(self._step)
        for hook in HOOKS:
            bus.signals.connect(hook, self._listener(hook))

    def _listener(self, hook: str) -> Any:
        def listen(event: Any, ctx: Any = None) -> None:
            self.fired.append((hook, event))

        return listen

    def _step(
        self,
        implementation: Implementation,
        _ctx: Any,
        event: Any,
        result: Any,
        seconds: float,
        error: BaseException | None,
    ) -> None:
        hook = implementation.spec.name
        self.calls.append(HookCall(hook, implementation.plugin, event, result, seconds, error))

    def __getitem__(self, hook: str) -> list[HookCall]:
        if hook not in HOOKS:
            raise KeyError(f"there is no hook {hook}")
        return [call for call in self.calls if call.hook == hook]

    def order(self) -> list[str]:
        """The hooks in the order in which they fired."""
        return [hook for hook, _ in self.fired]
