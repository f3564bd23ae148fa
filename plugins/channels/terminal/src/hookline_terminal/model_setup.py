"""The service ``ModelSetup``: the set-up of ``hookline init``, imported when a page uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hookline_hookspecs import Configuration, Host
from hookline_hookspecs.model_setup import ModelAnswers, ModelList, ModelTrial, OfferedProvider


class InitModelSetup:
    """Implements ``ModelSetup`` for the home of a plugin's host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def providers(self) -> Sequence[OfferedProvider]:
        """Return the providers to choose from."""
        from .setup import service

        return await asyncio.to_thread(service.providers, self._host)

    def problem(self, answers: ModelAnswers) -> str:
        """Return what is wrong with the answers; empty if nothing."""
        from .setup import service

        return service.problem(answers)

    async def models(self, answers: ModelAnswers) -> ModelList:
        """Return the models that the server lists."""
        from .setup import service

        return await asyncio.to_thread(service.models, self._host, answers)

    async def test(self, answers: ModelAnswers) -> ModelTrial:
        """Send one request to the model."""
        from .setup import service

        return await service.test(self._host, answers)

    async def save(self, answers: ModelAnswers) -> str:
        """Store the model and the key, and use them from now on."""
        from .setup import service

        name = await asyncio.to_thread(service.save, self._host, answers)
        self._host.services[Configuration].reload_models()
        return name
