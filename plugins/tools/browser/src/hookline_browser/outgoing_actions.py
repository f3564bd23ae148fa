"""Actions that send data to a page: described for approval, then performed.

The description that was approved is compared with a new one before the action: a page that has
changed gets nothing.
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

from .preview import field_line, quoted, visible
from .tab import BrowserTab

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle

MAX_UPLOAD_BYTES = 50_000_000
"""The limit of Playwright."""
MAX_FIELDS = 200
MAX_VALUE_CHARS = 4_000


@cache
def script() -> str:
    """Return the function that describes an element."""
    return files(__package__).joinpath("element.js").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class ElementInfo:
    """The result of ``element.js``, which the page could falsify. ``fields`` are name, kind, value,
    and the index of the pending text for the field, -1 if there is none."""

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


async def element_info(
    tab: BrowserTab, handle: ElementHandle, typed: Sequence[ElementHandle] = ()
) -> ElementInfo:
    """Get information on an element. Raises ``ToolError`` if the page does not answer."""
    found = await tab.answer(handle.evaluate(f"(e, typed) => ({script()})(e, typed)", [*typed]))
    if not isinstance(found, dict):
        return ElementInfo()
    known: dict[str, Any] = {
        field.name: bool(found.get(field.name))
        if field.type == "bool"
        else str(found.get(field.name, ""))[:MAX_VALUE_CHARS]
        for field in fields(ElementInfo)
        if field.name != "fields"
    }
    field_list = found.get("fields")
    rows = (
        [item for item in field_list if isinstance(item, dict)]
        if isinstance(field_list, list)
        else []
    )
    return ElementInfo(**known, fields=tuple(_field(row, len(typed)) for row in rows[:MAX_FIELDS]))


def _field(row: Mapping[str, Any], typed: int) -> tuple[str, str, str, int]:
    place = row.get("typed")
    pending = place if isinstance(place, int) and 0 <= place < typed else -1
    return str(row.get("name", "")), str(row.get("kind", "")), str(row.get("value", "")), pending


@dataclass(frozen=True, slots=True)
class OutgoingAction:
    """An action for approval: ``sentence`` says what and where, ``lines`` are its literal parts."""

    sentence: str
    lines: tuple[str, ...]

    @property
    def preview(self) -> str:
        """The text that a person approves."""
        return "\n".join([self.sentence, *self.lines])


async def describe_submission(tab: BrowserTab, ref: str | None) -> OutgoingAction:
    """Describe what ``submit`` would do. Raises ``ToolError`` if it cannot be done."""
    page = tab.page
    title = quoted((await tab.answer(page.title()))[:80])
    source = f"  from the page {visible(page.url)} {title}"
    if ref is None:
        if not tab.typed:
            raise ToolError("nothing was typed; give the ref of what to submit")
        sentence = f"Give what was typed to {visible(page.url)}, and submit nothing yet."
        return OutgoingAction(sentence, tuple(_typed_lines(tab, set())))
    _, handle, frame = await tab.element(ref)
    inside = [typed_ref for typed_ref in tab.typed if _same_frame(typed_ref, ref)]
    handles = [(await tab.element(typed_ref))[1] for typed_ref in inside]
    found = await element_info(tab, handle, handles)
    label = visible(tab.labels.get(ref, ref))
    if frame != page.main_frame:
        source += f"\n  in its frame {visible(frame.url)}"
    if not found.in_form:
        sentence = f"Press {label} on {visible(frame.url)}; its scripts may then send their data."
        return OutgoingAction(sentence, (source, *_typed_lines(tab, set())))
    sentence = f"Submit a form to {visible(found.action)} ({found.method}), by {label}."
    lines, shown = [source], set()
    for name, kind, value, place in found.fields:
        pending = tab.typed[inside[place]] if place >= 0 else None
        if pending is None:
            lines.append(field_line(name, kind, value, pending=False))
            continue
        shown.add(inside[place])
        kept_as = "password" if pending.secret else kind
        lines.append(field_line(name or pending.label, kept_as, pending.text, pending=True))
    return OutgoingAction(sentence, (*lines, *_typed_lines(tab, shown)))


def _typed_lines(tab: BrowserTab, shown: set[str]) -> list[str]:
    """Pending texts outside of the submitted form, which the page gets too."""
    return [
        field_line(
            f"{one.label} on {one.url}", "password" if one.secret else "", one.text, pending=True
        )
        for ref, one in tab.typed.items()
        if ref not in shown
    ]


def _same_frame(one: str, other: str) -> bool:
    return one.rpartition("e")[0] == other.rpartition("e")[0]


async def submit(tab: BrowserTab, ref: str | None) -> None:
    """Fill in the pending texts, then press or submit ``ref``."""
    tab.may_send = tab.accept_dialogs = True
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
    found = await element_info(tab, handle)
    if found.editable and not found.in_form:
        await tab.answer(locator.press("Enter", no_wait_after=True))
    elif found.in_form and (found.editable or found.tag == "form"):
        await tab.answer(handle.evaluate(_SUBMIT))
    else:
        await tab.answer(locator.click(timeout=8_000, no_wait_after=True))


_SUBMIT = "e => HTMLFormElement.prototype.requestSubmit.call(e.form || e.closest('form'))"


@dataclass(frozen=True, slots=True)
class UploadFile:
    """A file of the workspace to upload."""

    name: str
    data: bytes


def read_file(ctx: Context, path: str | None) -> UploadFile:
    """Read a file of the workspace. Raises ``PermissionError``, ``ToolError``."""
    if not path:
        raise ToolError("give the path of the file, below the workspace, as text")
    real = ctx.paths.resolve(path)
    if not real.is_relative_to(Path(ctx.paths.workspace).resolve()):
        raise ToolError(f"{path} is outside of the workspace; only its files can be uploaded")
    try:
        with ctx.paths.open_read(real) as stream:
            data = stream.read(MAX_UPLOAD_BYTES + 1)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise ToolError(f"{path} cannot be uploaded: {error.strerror}") from None
    if len(data) > MAX_UPLOAD_BYTES:
        raise ToolError(f"{path} is larger than {MAX_UPLOAD_BYTES:,} bytes")
    return UploadFile(real.name, data)


async def describe_upload(
    tab: BrowserTab, ref: str | None, path: str, file: UploadFile
) -> OutgoingAction:
    """Describe an upload."""
    _, _, frame = await tab.element(ref)
    digest = hashlib.sha256(file.data).hexdigest()[:16]
    size = f"{len(file.data):,} bytes, SHA-256 {digest}…"
    label = visible(tab.labels.get(str(ref), str(ref)))
    sentence = f"Upload {quoted(path)} ({size}) to {visible(frame.url)}, by {label}."
    return OutgoingAction(sentence, (f"  from the page {visible(tab.page.url)}",))


async def upload(tab: BrowserTab, ref: str | None, file: UploadFile) -> None:
    """Give the page the file."""
    tab.may_send = tab.accept_dialogs = True
    locator, handle, _ = await tab.element(ref)
    mime = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    payload: Any = {"name": file.name, "mimeType": mime, "buffer": file.data}
    if (await element_info(tab, handle)).file:
        await tab.answer(locator.set_input_files(payload), 30)
        return
    from playwright.async_api import Error

    try:
        async with tab.page.expect_file_chooser(timeout=5_000) as chooser:
            await locator.click(timeout=4_000)
        await tab.answer((await chooser.value).set_files(payload), 30)
    except Error:
        raise ToolError(
            f"{ref} does not accept a file; give the ref of a button that chooses one"
        ) from None
