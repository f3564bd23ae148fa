"""Trust: hosts, people and tools whose words count as the workspace's, by config or by grant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hookline_hookspecs import HooklineError, Host

from .taint import host_of

LONGEST = 300
"""Characters of a name."""


class Trust:
    """Who is trusted."""

    def __init__(self, host: Host, configured: Iterable[str]) -> None:
        self._host = host
        self._configured = frozenset(map(_plain, configured))

    async def names(self) -> frozenset[str]:
        """Every trusted name, in lower case."""
        rows = await self._host.storage.fetch("trusted")
        return self._configured | {row["what"] for row in rows}

    async def add(self, what: str, by_whom: str) -> str:
        """Trust a host (and those below it), a person or a tool; return the name as it is kept.

        Raises ``HooklineError`` for what is none.
        """
        name = _plain(what)
        if not name or len(name) > LONGEST or name in ("*", ".") or "*" in name:
            raise HooklineError(
                f"{what[:60]!r} cannot be trusted; name a host (docs.example.com), a person "
                "(telegram:222) or a tool (tool NAME)"
            )
        await self._host.storage.execute(
            "trust", what=name, by_whom=by_whom, added=self._host.now()
        )
        return name

    async def remove(self, what: str) -> bool:
        """Trust it no longer; False if it was not granted."""
        return bool(await self._host.storage.execute("distrust", what=_plain(what)))

    async def listed(self) -> Sequence[str]:
        """The names, one a line, with who granted them."""
        return [f"{name}  by {by}" for name, by in await self.entries()]

    async def entries(self) -> Sequence[tuple[str, str]]:
        """Return each name with who granted it: ``config.yaml``, or a person."""
        rows = await self._host.storage.fetch("trusted")
        granted = [(str(row["what"]), str(row["by_whom"])) for row in rows]
        return [*((name, "config.yaml") for name in sorted(self._configured)), *granted]


def _plain(what: str) -> str:
    """A URL as its host, everything in lower case."""
    text = " ".join(what.split())
    return host_of(text) if "://" in text else text.casefold().rstrip(".")
