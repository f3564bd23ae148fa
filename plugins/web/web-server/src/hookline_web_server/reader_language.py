"""The language of a request: what the person has chosen, else what the browser prefers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.web import ENGLISH, Language
from hookline_webkit import languages
from starlette.concurrency import run_in_threadpool

PACKAGE = "hookline_web_server"
"""There are the languages of this package's catalogues; plugins translate their own sentences."""
FOR_PROGRAMS = "/v1/"
"""Below this path all is English."""


class ReaderLanguages:
    """Chooses the language of each request, and loads languages when they are first wanted.

    Args:
        host: logs catalogues that cannot be read.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._loaded: dict[str, Language] = {ENGLISH.code: ENGLISH}

    @cached_property
    def available(self) -> list[str]:
        """The languages besides English."""
        return languages.languages_of(PACKAGE)

    async def language(self, scope: Any) -> Language:
        """Return the language in which to answer a request."""
        if str(scope.get("path", "")).startswith(FOR_PROGRAMS):
            return ENGLISH
        headers = {name: value.decode("latin-1") for name, value in scope.get("headers", ())}
        chosen = languages.chosen_language(headers.get(b"cookie", ""))
        code = languages.choose(self.available, chosen, headers.get(b"accept-language", ""))
        if code not in self._loaded:
            self._loaded[code] = await run_in_threadpool(self._load, code)
        return self._loaded[code]

    def _load(self, code: str) -> Language:
        try:
            return languages.load(code)
        except Exception as error:
            self._host.log.error("the language %s could not be loaded: %s", code, error)
            return ENGLISH
