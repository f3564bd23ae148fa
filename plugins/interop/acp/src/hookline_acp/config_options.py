"""The options of a session that an editor shows as selectors: its mode and its model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from acp import schema
from hookline_hookspecs import Conversations, HooklineError, Host, Inspection, Mode, Modes

from .sessions import EditorSession

MODE_OPTION, MODEL_OPTION = "mode", "model"
"""The ids of the options."""
MODEL_COMMAND = "/model"
MAX_MODELS = 100
"""Models that are offered."""
MODELS_TIMEOUT = 2.0
"""Seconds for the command ``/model`` to offer models; afterwards only the current one is."""


class ConfigOptions:
    """Builds the options of a session.

    Args:
        host: the plugin's host.
        modes: the modes that an editor can set, with their descriptions.
    """

    def __init__(self, host: Host, modes: Mapping[Mode, str]) -> None:
        self._host = host
        self._modes = modes

    async def build(self, session: EditorSession) -> list[Any]:
        """Return the options with their current values."""
        found = [await self._model(session)]
        modes = self._host.services.get(Modes)
        if modes is not None:
            found.insert(0, _mode(await modes.get(session.current), self._modes))
        return found

    async def current_model(self, session: EditorSession) -> str:
        """Return the ``provider/model`` of a session; that of new ones if it is not stored."""
        rows = await self._host.storage.fetch("conversation", id=session.current)
        stored = str(rows[0]["model"]) if rows else ""
        return stored or self._host.services[Inspection].default_model()

    async def update(self, session: EditorSession) -> schema.ConfigOptionUpdate | None:
        """Return an update for the editor if a value has changed since the last one."""
        options = await self.build(session)
        values = {one.id: one.current_value for one in options}
        if values == session.options:
            return None
        session.options = values
        return schema.ConfigOptionUpdate(
            session_update="config_option_update", config_options=options
        )

    async def _model(self, session: EditorSession) -> schema.SessionConfigOptionSelect:
        current = await self.current_model(session)
        if not session.models:
            session.models = await self._models(session)
        known = {current: "", **session.models}
        return _select(MODEL_OPTION, "Model", MODEL_OPTION, current, known)

    async def _models(self, session: EditorSession) -> dict[str, str]:
        """Return what the command ``/model`` completes: ``provider/model`` and description."""
        commands = self._host.services[Conversations].commands()
        complete = next((one.complete for one in commands if one.name == MODEL_COMMAND), None)
        if complete is None:
            return {}
        try:
            async with asyncio.timeout(MODELS_TIMEOUT):
                return dict((await complete(session.current, ""))[:MAX_MODELS])
        except (HooklineError, TimeoutError):
            return {}


def _mode(current: str, modes: Mapping[Mode, str]) -> schema.SessionConfigOptionSelect:
    names: dict[str, str] = {str(mode): about for mode, about in modes.items()}
    names.setdefault(current, "")
    return _select(MODE_OPTION, "Mode", "mode", current, names, capitalize=True)


def _select(
    option: str,
    name: str,
    category: Any,
    current: str,
    values: Mapping[str, str],
    *,
    capitalize: bool = False,
) -> schema.SessionConfigOptionSelect:
    options = [
        schema.SessionConfigSelectOption(
            value=value, name=value.capitalize() if capitalize else value, description=about or None
        )
        for value, about in values.items()
    ]
    return schema.SessionConfigOptionSelect(
        type="select",
        id=option,
        name=name,
        category=category,
        current_value=current,
        options=options,
    )
