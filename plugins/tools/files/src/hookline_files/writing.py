"""A file that is about to be written: what is there now, and how the new text is stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from hookline_hookspecs import Paths, ToolError
from hookline_textmatch import lines_of

from . import disk
from .disk import Stamp
from .storedtext import SNIFFED, BinaryContent, Form, decode, encoding_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished write: the new version, its number of lines, and sentences about it."""

    stamp: Stamp
    lines: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """A path to be written. ``before`` and ``text`` are None for a new file; ``text`` also where
    the old file is larger than ``limit`` bytes."""

    paths: Paths
    real: Path
    path: str
    limit: int
    before: Stamp | None = None
    text: str | None = None
    form: Form = field(default_factory=Form)

    @classmethod
    def at(cls, paths: Paths, real: Path, path: str, limit: int) -> Target:
        """The target at ``real``, which the model calls ``path``.

        Raises:
            ToolError: it is a folder, or a binary file.
        """
        if real.is_dir():
            raise ToolError(f"{path} is a folder; name a file in it")
        target = cls(paths, real, path, limit)
        if not real.exists():
            return target
        old = disk.load(paths, real, limit)
        try:
            if old.whole:
                text, form = decode(old.data)
                return replace(target, before=old.stamp, text=text, form=form)
            encoding, mark = encoding_of(old.data[:SNIFFED])
        except BinaryContent as error:
            raise ToolError(
                f"{path} is a binary file ({old.stamp.size} bytes): {error}. It was not changed"
            ) from error
        return replace(target, before=old.stamp, form=Form(encoding, mark))

    def require_text(self) -> tuple[Stamp, str]:
        """The version and text that are there now. Raises ``ToolError`` if it is too large."""
        if self.before is None or self.text is None:
            size = self.before.size if self.before else 0
            raise ToolError(
                f"{self.path} has {size} bytes; at most {self.limit} can be edited "
                "(max_file_bytes of the plugin files)"
            )
        return self.before, self.text

    def holds(self, content: str) -> bool:
        """Whether the file is there and would not change."""
        return self.text is not None and self.text == self._ended(content)

    def write(self, content: str) -> Outcome:
        """Replace the whole text. Encoding, mark and line endings stay, unless ``content`` cannot
        be stored so: then it becomes UTF-8 and the outcome says so.

        Raises:
            ToolError: the content is no text, or too large.
        """
        text, form = self._ended(content), self.form
        notes: tuple[str, ...] = ()
        lines = len(lines_of(content))
        try:
            form.encode(text)
        except UnicodeEncodeError:
            if form.encoding != "utf-8":
                note = f"Note: {self.path} was {form.encoding}, which lacks characters of the "
                notes = (note + "content; it is UTF-8 now.",)
                form = Form(newline=form.newline)
        return Outcome(replace(self, form=form).store(text), lines, notes)

    def store(self, text: str) -> Stamp:
        """Write ``text`` with its own line endings, in this encoding.

        Raises:
            ToolError: the encoding lacks a character, or the file would be too large or binary.
        """
        if "\0" in text:
            raise ToolError(f"the text for {self.path} holds a NUL character; only text is written")
        try:
            data = self.form.encode(text)
        except UnicodeEncodeError as error:
            lacking = text[error.start]
            raise ToolError(
                f"{self.path} is stored as {self.form.encoding}, which has no {lacking!r} "
                f"(U+{ord(lacking):04X}); use another character"
            ) from error
        if len(data) > self.limit:
            raise ToolError(
                f"{self.path} would have {len(data)} bytes; at most {self.limit} are written "
                "(max_file_bytes of the plugin files)"
            )
        return disk.replace(self.paths, self.real, data, self.before)

    def _ended(self, content: str) -> str:
        """``content`` with the file's line endings, unless it brings its own ``\\r\\n``."""
        if "\r\n" in content or self.form.newline == "\n":
            return content
        return content.replace("\n", self.form.newline)
