"""What leaves this machine by a page, described as a person is asked about it, and then done.

What is shown is what is compared: a page that has changed meanwhile gets nothing.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, ToolError

from .tab import Tab
from .wording import field_line, quoted, visible

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Locator

LARGEST_UPLOAD = 50_000_000
"""Bytes; Playwright takes no more in one piece."""
MOST_FIELDS = 200
LONGEST_ADDRESS = 4_000


@cache
def script() -> str:
    """Return the function that describes an element."""
    return files(__package__).joinpath("element.js").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class About:
    """What ``element.js`` says of an element; ``fields`` are name, kind, value and, where text is
    kept back for it, the place of that. The page could make it say anything."""

    tag: str = ""
    type: str = ""
    action: str = ""
    method: str = ""
    submits: bool = False
    editable: bool = False
    file: bool = False
    select: bool = False
    fixed: bool = False
    in_form: bool = False
    fields: tuple[tuple[str, str, str, int], ...] = ()


async def about(tab: Tab, handle: ElementHandle, typed: Sequence[ElementHandle] = ()) -> About:
    """Ask the page about an element. Raises ``ToolError`` if it does not answer."""
    found = await tab.answer(handle.evaluate(f"(e, typed) => ({script()})(e, typed)", [*typed]))
    if not isinstance(found, dict):
        return About()
    known: dict[str, Any] = {
        one.name: bool(found.get(one.name))
        if one.type == "bool"
        else str(found.get(one.name, ""))[:LONGEST_ADDRESS]
        for one in fields(About)
        if one.name != "fields"
    }
    told = found.get("fields")
    rows = [one for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    return About(**known, fields=tuple(_field(row, len(typed)) for row in rows[:MOST_FIELDS]))


def _field(row: Mapping[str, Any], typed: int) -> tuple[str, str, str, int]:
    place = row.get("typed")
    ours = place if isinstance(place, int) and 0 <= place < typed else -1
    return str(row.get("name", "")), str(row.get("kind", "")), str(row.get("value", "")), ours


@dataclass(frozen=True, slots=True)
class Deed:
    """``sentence`` says what and where; ``lines`` are its literal parts."""

    sentence: str
    lines: tuple[str, ...]

    @property
    def preview(self) -> str:
        """The whole, as a person reads it."""
        return "\n".join([self.sentence, *self.lines])


async def submission(tab: Tab, ref: str | None) -> Deed:
    """Describe what ``submit`` would do. Raises ``ToolError`` if it cannot be done."""
    page = tab.page
    title = quoted((await tab.answer(page.title()))[:80])
    source = f"  from the page {visible(page.url)} {title}"
    if ref is None:
        if not tab.typed:
            raise ToolError("nothing was typed; give the ref of what is to be submitted")
        told = f"Give what was typed to {visible(page.url)}, and submit nothing yet."
        return Deed(told, tuple(_typed_lines(tab, set())))
    _, handle, frame = await tab.element(ref)
    inside = [one for one in tab.typed if _same_frame(one, ref)]
    handles = [(await tab.element(one))[1] for one in inside]
    found = await about(tab, handle, handles)
    label = visible(tab.labels.get(ref, ref))
    if frame != page.main_frame:
        source += f"\n  in its frame {visible(frame.url)}"
    if not found.in_form:
        told = f"Press {label} on {visible(frame.url)}; its scripts may then send what they hold."
        return Deed(told, (source, *_typed_lines(tab, set())))
    told = f"Submit a form to {visible(found.action)} ({found.method}), by {label}."
    lines, shown = [source], set()
    for name, kind, value, place in found.fields:
        ours = tab.typed[inside[place]] if place >= 0 else None
        if ours is None:
            lines.append(field_line(name, kind, value, ours=False))
            continue
        shown.add(inside[place])
        kept_as = "password" if ours.secret else kind
        lines.append(field_line(name or ours.label, kept_as, ours.text, ours=True))
    return Deed(told, (*lines, *_typed_lines(tab, shown)))


def _typed_lines(tab: Tab, shown: set[str]) -> list[str]:
    """What was typed and is in no form that is submitted: the page gets it all the same."""
    return [
        field_line(
            f"{one.label} on {one.url}", "password" if one.secret else "", one.text, ours=True
        )
        for ref, one in tab.typed.items()
        if ref not in shown
    ]


def _same_frame(one: str, other: str) -> bool:
    return one.rpartition("e")[0] == other.rpartition("e")[0]


async def submit(tab: Tab, ref: str | None) -> None:
    """Give the page what was typed; then press or submit ``ref``."""
    tab.may_send = tab.confirms = True
    typed = dict(tab.typed)
    for one, kept in typed.items():
        locator, _, _ = await tab.element(one)
        await tab.answer(locator.fill(kept.text))
        if kept.secret:
            tab.chat.remember(kept.text)
    tab.typed.clear()
    if ref is None:
        return
    locator, handle, _ = await tab.element(ref)
    found = await about(tab, handle)
    if found.editable and not found.in_form:
        await tab.answer(locator.press("Enter", no_wait_after=True))
    elif found.in_form and (found.editable or found.tag == "form"):
        await tab.answer(handle.evaluate(_SUBMIT))
    else:
        await _press(tab, locator)


_SUBMIT = "e => HTMLFormElement.prototype.requestSubmit.call(e.form || e.closest('form'))"


async def _press(tab: Tab, locator: Locator) -> None:
    await tab.answer(locator.click(timeout=8_000, no_wait_after=True))


@dataclass(frozen=True, slots=True)
class File:
    """A file of the workspace that is to be uploaded."""

    name: str
    data: bytes


def read_file(ctx: Context, path: str | None) -> File:
    """Read a file of the workspace. Raises ``PermissionError``, ``ToolError``."""
    if not path:
        raise ToolError("give the path of the file, below the workspace, as text")
    real = ctx.paths.resolve(path)
    if not real.is_relative_to(Path(ctx.paths.workspace).resolve()):
        raise ToolError(f"{path} is outside of the workspace; only its files are uploaded")
    try:
        with ctx.paths.open_read(real) as stream:
            data = stream.read(LARGEST_UPLOAD + 1)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise ToolError(f"{path} cannot be uploaded: {error.strerror}") from None
    if len(data) > LARGEST_UPLOAD:
        raise ToolError(f"{path} is larger than {LARGEST_UPLOAD:,} bytes, the most for an upload")
    return File(real.name, data)


async def upload_of(tab: Tab, ref: str | None, path: str, file: File) -> Deed:
    """Describe an upload."""
    _, _, frame = await tab.element(ref)
    digest = hashlib.sha256(file.data).hexdigest()[:16]
    size = f"{len(file.data):,} bytes, SHA-256 {digest}…"
    label = visible(tab.labels.get(str(ref), str(ref)))
    told = f"Upload {quoted(path)} ({size}) to {visible(frame.url)}, by {label}."
    return Deed(told, (f"  from the page {visible(tab.page.url)}",))


async def upload(tab: Tab, ref: str | None, file: File) -> None:
    """Give the page the file."""
    tab.may_send = tab.confirms = True
    locator, handle, _ = await tab.element(ref)
    mime = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    payload: Any = {"name": file.name, "mimeType": mime, "buffer": file.data}
    if (await about(tab, handle)).file:
        await tab.answer(locator.set_input_files(payload), 30)
        return
    from playwright.async_api import Error

    try:
        async with tab.page.expect_file_chooser(timeout=5_000) as chooser:
            await locator.click(timeout=4_000)
        await tab.answer((await chooser.value).set_files(payload), 30)
    except Error:
        raise ToolError(f"{ref} takes no file; give the ref of a button that chooses one") from None
