"""What every version must pass on its way to the team: when it is proposed, and again, on the
reviewer's home, when it is approved. Nobody can wave it through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookline_hookspecs import Context, HooklineError, Host, Origin, Refused, ToolError
from hookline_teamskills import MOST_BYTES, MOST_FILES

from .. import admission, names, safely
from ..editing import KIND, MAIN
from ..library import Library


class DoorClosed(HooklineError):
    """A version cannot go to the team; a sentence."""


class Doors:
    """The doors of one home.

    Args:
        most: characters of a ``SKILL.md``.
    """

    def __init__(self, host: Host, library: Library, most: int) -> None:
        self._host = host
        self._library = library
        self._most = most

    async def check(
        self,
        name: str,
        files: Mapping[str, bytes],
        origins: Sequence[Origin],
        ctx: Context | None = None,
    ) -> None:
        """Judge a version.

        Raises:
            DoorClosed: it is not valid, says what another of the team's says, or was refused by a
                gate.
        """
        texts = self._texts(name, files)
        try:
            document = admission.checked(name, texts.get(MAIN), self._most)
        except ToolError as error:
            raise DoorClosed(str(error)) from error
        alike = admission.most_alike(self._library, name, document, but=name, team=True)
        if alike is not None:
            raise DoorClosed(
                f"the team's skill {alike.name} says this already (likeness {alike.degree:.2f}); "
                "propose a change of that one instead"
            )
        for path, text in texts.items():
            await self._gates(f"skills/{name}/{path}", text, origins, ctx)

    def _texts(self, name: str, files: Mapping[str, bytes]) -> dict[str, str]:
        if bad := names.refusal(name):
            raise DoorClosed(bad)
        if len(files) > MOST_FILES:
            raise DoorClosed(f"it has {len(files)} files; at most {MOST_FILES} go to the team")
        texts = {}
        for path, data in files.items():
            if len(data) > MOST_BYTES:
                raise DoorClosed(f"{path} has {len(data):,} bytes; at most {MOST_BYTES:,} go")
            try:
                parts = safely.parts_of(path)
                texts[path] = safely.text_of(data, path)
            except safely.BadPath as error:
                raise DoorClosed(f"{error}; a reviewer must be able to read all of it") from None
            if any(part.startswith(".") for part in parts) or "/".join(parts) != path:
                raise DoorClosed(f"{path!r} is no plain path of a skill's file")
        if len({safely.same(path) for path in files}) < len(files):
            raise DoorClosed("two of its files have names that some file systems take for one")
        return texts

    async def _gates(
        self, label: str, text: str, origins: Sequence[Origin], ctx: Context | None
    ) -> None:
        try:
            if ctx is None:
                learned = await self._host.learn(text, label, KIND, origins=origins)
                await self._host.read(text, label, KIND)
            else:
                learned = await ctx.learn(text, label, KIND)
                await ctx.read(text, label, KIND)
        except Refused as error:
            raise DoorClosed(f"{label} was refused: {error}") from error
        if learned != text:
            line = next((n for n, (a, b) in enumerate(_pairs(text, learned), 1) if a != b), 1)
            raise DoorClosed(
                f"{label} holds what must not be shared, in line {line}; take it out first"
            )


def has_scripts(files: Mapping[str, bytes]) -> list[str]:
    """The files that programs are."""
    return [
        path for path, data in files.items() if path.startswith("scripts/") or data[:2] == b"#!"
    ]


def _pairs(one: str, other: str) -> list[tuple[str, str]]:
    mine, theirs = one.split("\n"), other.split("\n")
    longer = max(len(mine), len(theirs))
    mine += [""] * (longer - len(mine))
    theirs += [""] * (longer - len(theirs))
    return list(zip(mine, theirs, strict=True))
