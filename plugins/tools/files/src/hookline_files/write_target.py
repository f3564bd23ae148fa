"""A file that is about to be written: its current content, and how new text is stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from hookline_hookspecs import Paths, ToolError
from hookline_textmatch import lines_of

from . import disk
from .disk import FileStamp
from .encoding import SNIFF_BYTES, BinaryContent, TextEncoding, decode, detect_encoding


@dataclass(frozen=True, slots=True)
class WriteResult:
    """A finished write: the new version, its number of lines, and notes for the model."""

    stamp: FileStamp
    lines: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A path to be written. ``before`` and ``text`` are None for a new file; ``text`` is None too
    if the old file is larger than ``limit`` bytes."""

    paths: Paths
    real: Path
    path: str
    limit: int
    before: FileStamp | None = None
    text: str | None = None
    form: TextEncoding = field(default_factory=TextEncoding)

    @classmethod
    def at(cls, paths: Paths, real: Path, path: str, limit: int) -> WriteTarget:
        """The target at ``real``, which the model calls ``path``.

        Raises:
            ToolError: it is a folder, or a binary file.
        """
        if real.is_dir():
            raise ToolError(f"{path} is a folder; name a file in it")
        if path.rstrip(" ").endswith(("/", "/.")):
            raise ToolError(
                f"{path} names a folder and nothing was written; add the name of a file, whose "
                "folders are created with it"
            )
        target = cls(paths, real, path, limit)
        if not real.exists():
            return target
        old = disk.load(paths, real, limit)
        try:
            if old.whole:
                text, form = decode(old.data)
                return replace(target, before=old.stamp, text=text, form=form)
            form = detect_encoding(old.data[:SNIFF_BYTES])
        except BinaryContent as error:
            raise ToolError(
                f"{path} is a binary file ({old.stamp.size} bytes): {error}. It was not changed"
            ) from error
        return replace(target, before=old.stamp, form=form)

    def require_text(self) -> tuple[FileStamp, str]:
        """The current version and text. Raises ``ToolError`` if the file is too large."""
        if self.before is None or self.text is None:
            size = self.before.size if self.before else 0
            raise ToolError(
                f"{self.path} has {size} bytes; at most {self.limit} can be edited "
                "(max_file_bytes of the plugin files)"
            )
        return self.before, self.text

    def has_content(self, content: str) -> bool:
        """Whether the file exists and has exactly this content."""
        return self.text is not None and self.text == self._with_file_newlines(content)

    def write(self, content: str) -> WriteResult:
        """Replace the whole text. Encoding, mark and line endings stay; a file whose encoding
        lacks a character of ``content`` becomes UTF-8, which a note says.

        Raises:
            ToolError: the content is not text, or too large.
        """
        text, form = self._with_file_newlines(content), self.form
        notes: tuple[str, ...] = ()
        lines = len(lines_of(content))
        try:
            form.encode(text)
        except UnicodeEncodeError:
            if form.encoding != "utf-8":
                note = f"Note: {self.path} was {form.encoding}, which lacks characters of the "
                notes = (note + "content; it is UTF-8 now.",)
                form = TextEncoding(newline=form.newline)
        return WriteResult(replace(self, form=form).store(text), lines, notes)

    def store(self, text: str) -> FileStamp:
        """Write ``text`` with its own line endings, in this encoding.

        Raises:
            ToolError: the encoding lacks a character, or the text is too large or has a NUL.
        """
        if "\0" in text:
            raise ToolError(f"the text for {self.path} has a NUL character; only text is written")
        try:
            data = self.form.encode(text)
        except UnicodeEncodeError as error:
            missing = text[error.start]
            raise ToolError(
                f"{self.path} is stored as {self.form.encoding}, which has no {missing!r} "
                f"(U+{ord(missing):04X}); use another character"
            ) from error
        if len(data) > self.limit:
            raise ToolError(
                f"{self.path} would have {len(data)} bytes; at most {self.limit} are written "
                "(max_file_bytes of the plugin files)"
            )
        return disk.replace(self.paths, self.real, data, self.before)

    def _with_file_newlines(self, content: str) -> str:
        """``content`` without a second mark, and with the file's line endings, unless it has its
        own ``\\r\\n``."""
        if self.form.mark:
            content = content.removeprefix("\ufeff")
        if "\r\n" in content or self.form.newline == "\n":
            return content
        return content.replace("\n", self.form.newline)
