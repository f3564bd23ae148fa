"""A session's page: what happens on it, what waits on this side of it, what is reported of it."""

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
from .scope import Scope
from .wording import visible

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Download, ElementHandle, Frame, Locator, Page, Request


T = TypeVar("T")
ANSWER_SECONDS = 10.0
"""How long a page has to answer a question about itself."""
LOAD_SECONDS = 5.0
BUSY_SECONDS = 3.0
"""How long is waited after an act for the rest of a page, and for what it asks of its network."""
QUIET_SECONDS = 0.4
"""How long nothing is under way on a page that has come to rest."""
MOST_PAGES = 4
MOST_DIALOGS = 5
"""Windows of a page at once, and dialogs in one act; a page that opens more is closed."""
MOST_NOTES = 12
SHOWN = 300
"""Characters of what a dialog says."""
REF = re.compile(r"(f\d+)?e\d+")
_BROKEN = (
    "the page does not answer: a script of it runs without end, or it is too large; open another "
    "address, or close it"
)
_GONE = "the page has crashed; open it again, or open another address"
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
class Typed:
    """Text that waits for a person's word before a page gets it.

    ``label`` is the field as the model saw it, ``url`` that of its frame; ``secret`` for a
    password field.
    """

    text: str
    label: str
    url: str
    secret: bool


class Tab:
    """The windows of one session; the last one is the page that is worked on.

    typed: by ref, in the order of typing. may_send: what would change something elsewhere passes.
    approved: how what a person approved was described.
    """

    def __init__(self, chat: Scope) -> None:
        self.chat = chat
        self.pages: list[Page] = []
        self.typed: dict[str, Typed] = {}
        self.may_send = True
        self.confirms = False
        self.approved: object = None
        self.lock = asyncio.Lock()
        self.downloads: list[Download] = []
        self.labels: dict[str, str] = {}
        self._broken = ""
        self._notes: list[str] = []
        self._held: Counter[str] = Counter()
        self._dialogs = 0
        self._lines: list[str] | None = None
        self._lines_of: tuple[object, str] = (None, "")
        self._pending: set[asyncio.Task[Any]] = set()
        self._under_way: set[Request] = set()

    # The page

    @property
    def page(self) -> Page:
        """The page. Raises ``ToolError`` if there is none that answers."""
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
        """Return the page, or a new one in place of none and of one that does not answer."""
        if self._broken:
            await self.close()
        if not self.pages:
            self._take(await self.answer(self.chat.context.new_page()))
        return self.page

    def _take(self, page: Page) -> None:
        page.set_default_timeout(ANSWER_SECONDS * 1_000)
        page.on("dialog", self._dialog)
        page.on("popup", self._popup)
        page.on("download", self._download)
        page.on("framenavigated", self._navigated)
        page.on("crash", lambda *_: self._crash(page))
        page.on("close", lambda *_: self._closed(page))
        page.on("request", lambda request: self._under_way.add(request))
        page.on("requestfinished", lambda request: self._under_way.discard(request))
        page.on("requestfailed", lambda request: self._under_way.discard(request))
        page.on("filechooser", lambda *_: self.note("it asks for a file; use action upload"))
        self.pages.append(page)

    async def close(self) -> None:
        """Close every window."""
        pages, self.pages, self._broken = self.pages, [], ""
        self._under_way.clear()
        for page in pages:
            await self._close(page)
        self.forget()
        self._lines = None

    async def _close(self, page: Page) -> None:
        with suppress(Exception):
            async with asyncio.timeout(ANSWER_SECONDS):
                await page.close()

    def forget(self) -> None:
        """Drop what was typed and not given."""
        self.typed.clear()
        self.approved = None

    async def answer(self, question: Awaitable[T], seconds: float = ANSWER_SECONDS) -> T:
        """Return what the page answers. Raises ``ToolError`` if it does not."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(seconds):
                return await question
        except TimeoutError:
            self._broken = self._broken or _BROKEN
            raise ToolError(self._broken) from None
        except Error:
            if self._broken:
                raise ToolError(self._broken) from None
            raise

    async def element(self, ref: str | None) -> tuple[Locator, ElementHandle, Frame]:
        """Return what ``ref`` stands for. Raises ``ToolError`` if it is not there any more."""
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

    # What happens on it

    def note(self, text: str) -> None:
        """Report this with the next result."""
        if len(self._notes) < MOST_NOTES and text not in self._notes:
            self._notes.append(text)

    def held_back(self, request: Request) -> None:
        """Note a request that was not let out."""
        if request.resource_type != "ping":
            parts = urlsplit(request.url)
            self._held[f"{request.method} {parts.scheme}://{parts.netloc}{parts.path}"[:200]] += 1

    def _background(self, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    def _dialog(self, dialog: Dialog) -> None:
        self._dialogs += 1
        if self._dialogs > MOST_DIALOGS:
            if not self._broken:
                self._broken = "the page shows one dialog after the other, so it was closed"
                self._background(self._abandon())
            return
        said = visible(dialog.message)[:SHOWN]
        kind = dialog.type
        accepted = kind in ("alert", "beforeunload") or (kind == "confirm" and self.confirms)
        if kind != "beforeunload":
            answer = {"alert": "closed"}.get(kind, "accepted" if accepted else "dismissed")
            self.note(f"a dialog ({kind}, {answer}) said: {said}")
        self._background(_quietly(dialog.accept() if accepted else dialog.dismiss()))

    async def _abandon(self) -> None:
        pages, self.pages = self.pages, []
        for page in pages:
            await self._close(page)

    def _popup(self, page: Page) -> None:
        if len(self.pages) >= MOST_PAGES:
            self.note(f"more than {MOST_PAGES} windows; the new ones were closed")
            self._background(_quietly(page.close()))
            return
        self._take(page)
        self.note("it opened a new window, which is shown here; action close goes back")

    def _download(self, download: Download) -> None:
        if len(self.downloads) >= MOST_PAGES:
            self.note(f"more than {MOST_PAGES} downloads at once; the others were cancelled")
            self._background(_quietly(download.cancel()))
            return
        self.downloads.append(download)

    def _navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None and self.pages and frame.page is self.pages[-1]:
            # A new document: what was typed was for the one before, and this one loads.
            self.forget()
            self.may_send = True

    def _crash(self, page: Page) -> None:
        if page in self.pages:
            self._broken = _GONE

    def _closed(self, page: Page) -> None:
        if page in self.pages:
            self.pages.remove(page)
            self.forget()

    # An act, and what is reported of it

    def begin(self) -> None:
        """Begin an act."""
        self._dialogs = 0
        self.confirms = False
        self.chat.pass_.reset()

    async def settle(self) -> None:
        """Wait, within bounds, until the page shows what an act has led to."""
        await self.rest()
        for state, seconds in (
            ("domcontentloaded", self.chat.config.timeout),
            ("load", LOAD_SECONDS),
        ):
            if not self._is_well():
                return
            with suppress(Exception):
                async with asyncio.timeout(seconds + 1):
                    await self.pages[-1].wait_for_load_state(state, timeout=seconds * 1_000)  # type: ignore[arg-type]
        await self.rest()

    async def rest(self) -> None:
        """Wait until no request was under way for a moment; for a new page as long as it may take
        to load, for everything else not long."""
        clock = asyncio.get_running_loop().time
        began = quiet_since = clock()
        while self._is_well():
            await asyncio.sleep(0.05)
            now = clock()
            if self._under_way:
                quiet_since = now
            if now - quiet_since >= QUIET_SECONDS:
                return
            leads_on = any(one.is_navigation_request() for one in self._under_way)
            if now - began > (self.chat.config.timeout if leads_on else BUSY_SECONDS):
                if leads_on:
                    await self._stop_loading()
                return

    async def _stop_loading(self) -> None:
        """Stay on the page that is there: until it is known which one comes, none answers."""
        self.note(f"what comes next did not answer within {self.chat.config.timeout:g} s")
        with suppress(Exception):
            async with asyncio.timeout(ANSWER_SECONDS):
                session = await self.chat.context.new_cdp_session(self.pages[-1])
                await session.send("Page.stopLoading")
                await session.detach()

    def _is_well(self) -> bool:
        return bool(self.pages) and not self._broken and not self.chat.pass_.is_over

    def require_well(self) -> None:
        """Raise ``ToolError`` if the page has been given up."""
        if self._broken:
            raise ToolError(self._broken)

    async def nodes(self) -> list[snapshot.Node]:
        """Return the page's lines, with passwords masked."""
        page = self.page
        if urlsplit(page.url).scheme not in ("http", "https", "about"):
            where = page.url[:80]
            await self.close()
            raise ToolError(f"the page went to {where!r}, which is not shown, so it was closed")
        for frame in page.frames[:20]:
            with suppress(Exception):  # a frame that has gone, or holds no page
                async with asyncio.timeout(ANSWER_SECONDS / 2):
                    for secret in await frame.evaluate(_PASSWORDS):
                        self.chat.remember(str(secret))
        text = await self.answer(page.aria_snapshot(mode="ai"))
        found = snapshot.nodes(text, self.chat.secrets)
        self.labels = {node.ref: f"{node.role} {node.name}".strip() for node in found if node.ref}
        return found

    async def report(self) -> str:
        """Return the page's head, what happened, and what can be acted on, or has changed of it."""
        page = self.page
        found = await self.nodes()
        lines = snapshot.interactive(found)
        title = visible(await self.answer(page.title()))[:120]
        same = self._lines is not None and self._lines_of == (page, _document(page.url))
        body = snapshot.difference(self._lines or [], lines) if same else snapshot.first(lines)
        self._lines, self._lines_of = lines, (page, _document(page.url))
        head = f"{title}\n{page.url[:500]}"
        return "\n".join([head, *self.told(), "", body])

    def told(self) -> list[str]:
        """Return, once, what has happened since the last report."""
        told, self._notes = self._notes, []
        pass_ = self.chat.pass_
        if pass_.is_over:
            most = self.chat.config.max_megabytes
            told.append(f"more than {most} MB came, so the rest was stopped")
        if self._held:
            listed = ", ".join(list(self._held)[:3])
            told.append(
                f"held back, because nobody approved it: {listed}; if it is meant, use action "
                "submit with the same ref"
            )
            self._held.clear()
        if pass_.refused:
            hosts = ", ".join(list(pass_.refused)[:5])
            told.append(f"requests of the page were refused: {hosts}")
        if self.typed:
            kept = ", ".join(f"{ref} {one.label}" for ref, one in self.typed.items())
            told.append(f"typed and kept here until action submit: {kept}")
        return [f"[{one}]" for one in told]

    def origins(self) -> tuple[Origin, ...]:
        """Return where the page's texts come from: the addresses of its frames."""
        frames = self.pages[-1].frames if self.pages else []
        urls = [frame.url for frame in frames if frame.url.startswith(("http://", "https://"))]
        return tuple(Origin("outside", url[:500]) for url in dict.fromkeys(urls[:6]))


async def _quietly(work: Awaitable[Any]) -> None:
    with suppress(Exception):
        await work


def _document(url: str) -> str:
    return url.partition("#")[0]
