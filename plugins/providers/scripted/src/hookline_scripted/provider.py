"""The provider: loads scripts, tracks their progress, streams text in words."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

from hookline_hookspecs import (
    CachePrice,
    Delta,
    DeltaSink,
    ModelRequest,
    ModelResponse,
    NetworkError,
    ProviderSettings,
    ToolCall,
    WireRequest,
)

from . import playback, wire
from .script import ERROR_KINDS, Script, Step, load

_WORDS = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class _Loaded:
    stamp: tuple[int, int, int]
    script: Script


class ScriptedProvider:
    """Plays ``scripted/PATH.yaml``.

    A file is read when first asked for and again when it has changed on disk; its steps are then
    all unused again. Progress belongs to this object and is shared by its sessions.
    """

    cache_price = CachePrice()

    def __init__(self, settings: ProviderSettings) -> None:
        """Take the settings; key and base URL are ignored."""
        self.name = settings.name
        self._loaded: dict[Path, _Loaded] = {}
        self._sent: dict[str, tuple[bytes, ...]] = {}

    def render(self, request: ModelRequest) -> WireRequest:
        """Return the request in this provider's JSON; the script is not read yet."""
        return wire.render(request)

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Play the step that answers ``wire``.

        Raises:
            BadRequest: the script is invalid, or no step matches.
            ProviderError: the step has a fault.
        """
        script = self._script(wire)
        step = playback.take_step(script, wire)
        await asyncio.sleep(step.delay)
        kind = step.fault.kind if step.fault else ""
        if step.fault and kind in ERROR_KINDS:
            raise playback.fault_error(script, step.fault)
        await _stream_text(step.text, on_delta)
        if kind == "cut":
            raise NetworkError(
                f"The scripted model's answer broke off, as {script.path} asks. Try again."
            )
        return self._response(step, wire)

    async def aclose(self) -> None:
        """Do nothing; no connection is open."""

    def _script(self, wire: WireRequest) -> Script:
        path = Path(str(wire.fields["model"]))
        where = path.absolute()
        stamp = _stamp(path)
        known = self._loaded.get(where)
        if known is None or known.stamp != stamp:
            known = self._loaded[where] = _Loaded(stamp, load(path))
        return known.script

    def _response(self, step: Step, request: WireRequest) -> ModelResponse:
        answer = playback.blocks(step, request)
        now = wire.parts(request)
        before = self._sent.get(request.session_id, ())
        self._sent[request.session_id] = now
        calls = any(isinstance(block, ToolCall) for block in answer)
        incomplete = step.fault is not None and step.fault.kind == "incomplete"
        return ModelResponse(
            answer,
            "incomplete" if incomplete else "tools" if calls else "end",
            playback.usage(now, before, answer),
            model=request.model,
        )


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        stat = path.stat()
    except (OSError, ValueError):
        # load() reports what is wrong.
        return (0, 0, 0)
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


async def _stream_text(text: str, on_delta: DeltaSink | None) -> None:
    if on_delta is None:
        return
    for word in _WORDS.findall(text):
        on_delta(Delta(word))
        # Yield, as a network would: screens draw and cancellation works between two words.
        await asyncio.sleep(0)
