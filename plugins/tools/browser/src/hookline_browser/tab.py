"""A session's page: its events, its pending texts, and its reports."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from hookline_hookspecs import Origin, ToolError

from . import snapshot
from .chat_scope import ChatScope
from .preview import visible

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Download, ElementHandle, Frame, Locator, Page, Request


T = TypeVar("T")
ANSWER_TIMEOUT = 10.0
"""Seconds for a page to answer a query."""
LOAD_TIMEOUT = 5.0
"""Seconds to wait for the rest of a page after an action."""
MAX_BUSY_SECONDS = 3.0
"""Seconds to wait after an action for requests that do not lead to a new page."""
QUIET_SECONDS = 0.4
"""Seconds without a request after which a page is quiet."""
MAX_PAGES = 4
"""Open windows, and downloads of one action; more are closed or cancelled."""
MAX_DIALOGS = 5
"""Dialogs in one action; a page that opens more is closed."""
MAX_NOTES = 12
MAX_DIALOG_CHARS = 300
REF = re.compile(r"(f\d+)?e\d+")
_UNRESPONSIVE = (
    "the page does not answer: a script runs endlessly, or it is too large; open another "
    "address, or close it"
)
_CRASHED = "the page has crashed; open it again, or open another address"
_PASSWORDS = """() => {
  const found = [];
  const look = root => {
    for (const e of root.querySelectorAll('*')) {
      if (e.localName === 'input' && e.type === 'password' && e.value) found.push(e.value);
      if (e.shadowRoot && found.length < 100) look(e.shadowRoot);
    }
  };
  look(document);
  return found.slice(0, 100).map(one => one.slice(0, 1000));
}"""


@dataclass(frozen=True, slots=True)
class PendingText:
    """Text for a field that the page gets only after approval.

    ``label`` is the field as the model saw it, ``url`` that of its frame; ``secret``: the field is
    a password field.
    """

    text: str
    label: str
    url: str
    secret: bool


class BrowserTab:
    """The windows of one session; the last one is the current page.

    ``typed`` are pending texts by ref, in the order of typing. ``may_send``: requests that may
    change something are let through. ``accept_dialogs``: ``confirm`` is answered yes. ``approved``
    is the description of the action that a person approved.
    """

    def __init__(self, chat: ChatScope) -> None:
        self.chat = chat
        self.pages: list[Page] = []
        self.typed: dict[str, PendingText] = {}
        self.may_send = True
        self.accept_dialogs = False
        self.approved: object = None
        self.lock = asyncio.Lock()
        self.downloads: list[Download] = []
        self.labels: dict[str, str] = {}
        self._broken = ""
        self._notes: list[str] = []
        self._held_requests: Counter[str] = Counter()
        self._dialogs = 0
        self._lines: list[str] | None = None
        self._lines_of: tuple[object, str] = (None, "")
        self._pending: set[asyncio.Task[Any]] = set()
        self._open_requests: set[Request] = set()

    @property
    def page(self) -> Page:
        """The current page. Raises ``ToolError`` if there is none that answers."""
        if self._broken:
            raise ToolError(self._broken)
        if not self.pages:
            raise ToolError("no page is open; use action open with a url")
        return self.pages[-1]

    @property
    def url(self) -> str:
        """The page's address; empty without a page."""
        return self.pages[-1].url if self.pages else ""

    async def usable_page(self) -> Page:
        """Return the page, or a new one if there is none that answers."""
        if self._broken:
            await self.close()
        if not self.pages:
            self._add_page(await self.answer(self.chat.context.new_page()))
        return self.page

    def _add_page(self, page: Page) -> None:
        page.set_default_timeout(ANSWER_TIMEOUT * 1_000)
        page.on("dialog", self._dialog)
        page.on("popup", self._popup)
        page.on("download", self._download)
        page.on("framenavigated", self._navigated)
        page.on("crash", lambda *_: self._crash(page))
        page.on("close", lambda *_: self._closed(page))
        page.on("request", lambda request: self._open_requests.add(request))
        page.on("requestfinished", lambda request: self._open_requests.discard(request))
        page.on("requestfailed", lambda request: self._open_requests.discard(request))
        page.on("filechooser", lambda *_: self.note("it asks for a file; use action upload"))
        self.pages.append(page)

    async def close(self) -> None:
        """Close every window."""
        pages, self.pages, self._broken = self.pages, [], ""
        self._open_requests.clear()
        for page in pages:
            await self._close(page)
        self.drop_pending()
        self._lines = None

    async def _close(self, page: Page) -> None:
        with suppress(Exception):
            async with asyncio.timeout(ANSWER_TIMEOUT):
                await page.close()

    def drop_pending(self) -> None:
        """Drop pending texts and the approval."""
        self.typed.clear()
        self.approved = None

    async def answer(self, question: Awaitable[T], seconds: float = ANSWER_TIMEOUT) -> T:
        """Return the page's answer. Raises ``ToolError`` if there is none in time."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(seconds):
                return await question
        except TimeoutError:
            self._broken = self._broken or _UNRESPONSIVE
            raise ToolError(self._broken) from None
        except Error:
            if self._broken:
                raise ToolError(self._broken) from None
            raise

    async def element(self, ref: str | None) -> tuple[Locator, ElementHandle, Frame]:
        """Return the element of ``ref``. Raises ``ToolError`` if it no longer exists."""
        from playwright.async_api import Error

        if not ref or not REF.fullmatch(ref):
            raise ToolError("give the ref of an element, such as e5, as the page's lines show it")
        found = self.page.locator(f"aria-ref={ref}")
        try:
            handle = await self.answer(found.element_handle(timeout=3_000))
            frame = await self.answer(handle.owner_frame())
        except Error:
            raise ToolError(
                f"there is no {ref} on the page (any more); browser_read shows what is there"
            ) from None
        assert frame is not None
        return found, handle, frame

    def note(self, text: str) -> None:
        """Add a note to the next result."""
        if len(self._notes) < MAX_NOTES and text not in self._notes:
            self._notes.append(text)

    def record_held_request(self, request: Request) -> None:
        """Record a request that was blocked."""
        if request.resource_type != "ping":
            parts = urlsplit(request.url)
            self._held_requests[
                f"{request.method} {parts.scheme}://{parts.netloc}{parts.path}"[:200]
            ] += 1

    def _background(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def _dialog(self, dialog: Dialog) -> None:
        self._dialogs += 1
        if self._dialogs > MAX_DIALOGS:
            if not self._broken:
                self._broken = "the page shows one dialog after the other, so it was closed"
                self._background(self._abandon())
            return
        message = visible(dialog.message)[:MAX_DIALOG_CHARS]
        kind = dialog.type
        accepted = kind in ("alert", "beforeunload") or (kind == "confirm" and self.accept_dialogs)
        if kind != "beforeunload":
            answer = {"alert": "closed"}.get(kind, "accepted" if accepted else "dismissed")
            self.note(f"a dialog ({kind}, {answer}) said: {message}")
        self._background(_ignore_errors(dialog.accept() if accepted else dialog.dismiss()))

    async def _abandon(self) -> None:
        pages, self.pages = self.pages, []
        for page in pages:
            await self._close(page)

    def _popup(self, page: Page) -> None:
        if len(self.pages) >= MAX_PAGES:
            self.note(f"more than {MAX_PAGES} windows; the new ones were closed")
            self._background(_ignore_errors(page.close()))
            return
        self._add_page(page)
        self.note("a new window opened and is shown here; action close goes back")

    def _download(self, download: Download) -> None:
        if len(self.downloads) >= MAX_PAGES:
            self.note(f"more than {MAX_PAGES} downloads at once; the others were cancelled")
            self._background(_ignore_errors(download.cancel()))
            return
        self.downloads.append(download)

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None and self.pages and frame.page is self.pages[-1]:
            # A new document: pending texts were for the old one.
            self.drop_pending()
            self.may_send = True

    def _crash(self, page: Page) -> None:
        if page in self.pages:
            self._broken = _CRASHED

    def _closed(self, page: Page) -> None:
        if page in self.pages:
            self.pages.remove(page)
            self.drop_pending()

    def begin(self) -> None:
        """Start an action."""
        self._dialogs = 0
        self.accept_dialogs = False
        self.chat.proxy_pass.reset()

    async def settle(self) -> None:
        """Wait, for a limited time, until the page shows the result of an action."""
        await self.wait_until_quiet()
        for state, seconds in (
            ("domcontentloaded", self.chat.config.timeout),
            ("load", LOAD_TIMEOUT),
        ):
            if not self._is_usable():
                return
            with suppress(Exception):
                async with asyncio.timeout(seconds + 1):
                    await self.pages[-1].wait_for_load_state(state, timeout=seconds * 1_000)  # type: ignore[arg-type]
        await self.wait_until_quiet()

    async def wait_until_quiet(self) -> None:
        """Wait until no request was open for a moment: up to the load timeout for a new page, a
        shorter time otherwise."""
        clock = asyncio.get_running_loop().time
        began = quiet_since = clock()
        while self._is_usable():
            await asyncio.sleep(0.05)
            now = clock()
            if self._open_requests:
                quiet_since = now
            if now - quiet_since >= QUIET_SECONDS:
                return
            leads_on = any(request.is_navigation_request() for request in self._open_requests)
            if now - began > (self.chat.config.timeout if leads_on else MAX_BUSY_SECONDS):
                if leads_on:
                    await self._stop_loading()
                return

    async def _stop_loading(self) -> None:
        """Stay on the current page; while the next one loads, neither answers."""
        self.note(f"the next page did not answer within {self.chat.config.timeout:g} s")
        with suppress(Exception):
            async with asyncio.timeout(ANSWER_TIMEOUT):
                session = await self.chat.context.new_cdp_session(self.pages[-1])
                await session.send("Page.stopLoading")
                await session.detach()

    def _is_usable(self) -> bool:
        return bool(self.pages) and not self._broken and not self.chat.proxy_pass.is_over

    def require_usable(self) -> None:
        """Raise ``ToolError`` if the page does not answer or has crashed."""
        if self._broken:
            raise ToolError(self._broken)

    async def nodes(self) -> list[snapshot.SnapshotNode]:
        """Return the page's lines, with passwords masked."""
        page = self.page
        if urlsplit(page.url).scheme not in ("http", "https", "about"):
            where = page.url[:80]
            await self.close()
            raise ToolError(f"the page went to {where!r}, which is not shown, so it was closed")
        for frame in page.frames[:20]:
            with suppress(Exception):  # the frame is gone or has no page
                async with asyncio.timeout(ANSWER_TIMEOUT / 2):
                    for secret in await frame.evaluate(_PASSWORDS):
                        self.chat.remember(str(secret))
        text = await self.answer(page.aria_snapshot(mode="ai"))
        found = snapshot.parse(text, self.chat.secrets)
        self.labels = {node.ref: f"{node.role} {node.name}".strip() for node in found if node.ref}
        return found

    async def report(self) -> str:
        """Return title, address, notes, and the usable elements or their changes."""
        page = self.page
        found = await self.nodes()
        lines = snapshot.interactive(found)
        title = visible(await self.answer(page.title()))[:120]
        same = self._lines is not None and self._lines_of == (page, _document(page.url))
        body = (
            snapshot.changed_lines(self._lines or [], lines)
            if same
            else snapshot.first_report(lines)
        )
        self._lines, self._lines_of = lines, (page, _document(page.url))
        head = f"{title}\n{page.url[:500]}"
        return "\n".join([head, *self.take_notes(), "", body])

    def take_notes(self) -> list[str]:
        """Return and clear the notes since the last report."""
        notes = self._notes
        self._notes = []
        proxy_pass = self.chat.proxy_pass
        if proxy_pass.is_over:
            most = self.chat.config.max_megabytes
            notes.append(f"more than {most} MB were received, so the rest was stopped")
        if self._held_requests:
            listed = ", ".join(list(self._held_requests)[:3])
            notes.append(
                f"held back, because it was not approved: {listed}; if it is meant, use action "
                "submit with the same ref"
            )
            self._held_requests.clear()
        if proxy_pass.refused:
            hosts = ", ".join(list(proxy_pass.refused)[:5])
            notes.append(f"requests of the page were refused: {hosts}")
        if self.typed:
            kept = ", ".join(f"{ref} {one.label}" for ref, one in self.typed.items())
            notes.append(f"typed and kept here until action submit: {kept}")
        return [f"[{note}]" for note in notes]

    def origins(self) -> tuple[Origin, ...]:
        """Return the origins of the page's text: the addresses of its frames."""
        frames = self.pages[-1].frames if self.pages else []
        urls = [frame.url for frame in frames if frame.url.startswith(("http://", "https://"))]
        return tuple(Origin("outside", url[:500]) for url in dict.fromkeys(urls[:6]))


async def _ignore_errors(work: Awaitable[Any]) -> None:
    with suppress(Exception):
        await work


def _document(url: str) -> str:
    return url.partition("#")[0]
