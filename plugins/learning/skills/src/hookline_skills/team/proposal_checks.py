"""Checks that a version must pass when it is proposed, and again in the reviewer's home when it is
approved. No one can override them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookline_hookspecs import Context, HooklineError, Host, Origin, Refused, ToolError
from hookline_teamskills import MAX_FILE_BYTES, MAX_FILES

from .. import names, safe_files, write_checks
from ..editor import KIND, MAIN_FILE
from ..library import SkillLibrary


class ProposalRefused(HooklineError):
    """A version may not go to the team; the text says why."""


class ProposalChecks:
    """Checks versions of skills in one home.

    Args:
        max_chars: the limit of a ``SKILL.md``.
    """

    def __init__(self, host: Host, library: SkillLibrary, max_chars: int) -> None:
        self._host = host
        self._library = library
        self._max_chars = max_chars

    async def check(
        self,
        name: str,
        files: Mapping[str, bytes],
        origins: Sequence[Origin],
        ctx: Context | None = None,
    ) -> None:
        """Check a version.

        Raises:
            ProposalRefused: it is not valid, duplicates another of the team's skills, or was
                refused by ``pre_learn`` or ``pre_read``.
        """
        texts = self._texts(name, files)
        try:
            document = write_checks.require_document(name, texts.get(MAIN_FILE), self._max_chars)
        except ToolError as error:
            raise ProposalRefused(str(error)) from error
        duplicate = write_checks.find_duplicate(self._library, name, document, skip=name, team=True)
        if duplicate is not None:
            raise ProposalRefused(
                f"the team's skill {duplicate.name} already covers this (similarity "
                f"{duplicate.score:.2f}); "
                "propose a change to that one instead"
            )
        for path, text in texts.items():
            await self._pass_gates(f"skills/{name}/{path}", text, origins, ctx)

    def _texts(self, name: str, files: Mapping[str, bytes]) -> dict[str, str]:
        if reason := names.name_error(name):
            raise ProposalRefused(reason)
        if len(files) > MAX_FILES:
            raise ProposalRefused(f"it has {len(files)} files; the limit is {MAX_FILES}")
        texts = {}
        for path, data in files.items():
            if len(data) > MAX_FILE_BYTES:
                raise ProposalRefused(
                    f"{path} has {len(data):,} bytes; the limit is {MAX_FILE_BYTES:,}"
                )
            try:
                parts = safe_files.split_path(path)
                texts[path] = safe_files.decode_text(data, path)
            except safe_files.BadPath as error:
                raise ProposalRefused(
                    f"{error}; a reviewer must be able to read all of it"
                ) from None
            if any(part.startswith(".") for part in parts) or "/".join(parts) != path:
                raise ProposalRefused(f"{path!r} is not a plain path of a skill's file")
        if len({safe_files.collision_key(path) for path in files}) < len(files):
            raise ProposalRefused(
                "two of its files have names that some file systems do not distinguish"
            )
        return texts

    async def _pass_gates(
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
            raise ProposalRefused(f"{label} was refused: {error}") from error
        if learned != text:
            line = next((n for n, (a, b) in enumerate(_line_pairs(text, learned), 1) if a != b), 1)
            raise ProposalRefused(
                f"{label} contains text that must not be shared, in line {line}; remove it first"
            )


def script_files(files: Mapping[str, bytes]) -> list[str]:
    """The paths of files that are programs."""
    return [
        path for path, data in files.items() if path.startswith("scripts/") or data[:2] == b"#!"
    ]


def _line_pairs(one: str, other: str) -> list[tuple[str, str]]:
    mine, theirs = one.split("\n"), other.split("\n")
    longer = max(len(mine), len(theirs))
    mine += [""] * (longer - len(mine))
    theirs += [""] * (longer - len(theirs))
    return list(zip(mine, theirs, strict=True))
