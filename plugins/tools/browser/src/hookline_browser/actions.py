"""Actions on a page that need no approval, one function for each."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, ImageBlock, Refused, ToolError

from .outgoing_actions import element_info
from .tab import BrowserTab, PendingText

if TYPE_CHECKING:
    from playwright.async_api import Error

SAFE_KEYS = frozenset(
    (
        *("Enter", "Space", "Escape", "Tab", "Shift+Tab", "Home", "End", "Backspace", "Delete"),
        *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown"),
    )
)
"""Keys that write nothing: a letter would reach the page without approval."""
MAX_TEXT_CHARS = 20_000
MAX_IMAGE_BYTES = 5_000_000
MAX_WAIT_SECONDS = 30.0
_SCROLLS = {"down": "innerHeight * 0.8", "up": "-innerHeight * 0.8", "top": "-1e9", "bottom": "1e9"}


async def open_url(tab: BrowserTab, host: Host, url: str | None) -> None:
    """Open an address. Raises ``Refused``, ``ToolError``."""
    from playwright.async_api import Error

    if not url:
        raise ToolError("give the url to open")
    if (reason := host.http.check_url(url)) is not None:
        raise Refused(reason)
    page = await tab.usable_page()
    tab.drop_pending()
    tab.may_send = True
    before = len(tab.downloads)
    seconds = tab.chat.config.timeout
    try:
        async with asyncio.timeout(seconds + 5):
            answer = await page.goto(url, wait_until="commit", timeout=seconds * 1_000)
        if answer is not None and answer.status >= 400:
            tab.note(f"the server answered with status {answer.status}")
    except TimeoutError:
        await tab.close()
        raise ToolError(f"{url[:200]} did not answer within {seconds:g} s") from None
    except Error as error:
        tab.require_usable()
        await tab.wait_until_quiet()  # a download is reported after the page has failed
        if len(tab.downloads) > before:
            return
        failure = _open_error(tab, url, error)
        await tab.close()
        raise failure from None


def _open_error(tab: BrowserTab, url: str, error: Error) -> Exception:
    """The error that says why an address was not opened."""
    proxy_pass = tab.chat.proxy_pass
    if proxy_pass.is_over:
        most = tab.chat.config.max_megabytes
        return ToolError(f"{url[:200]} was not opened: it has more than {most} MB")
    if proxy_pass.refused:
        return Refused(next(reversed(proxy_pass.refused.values())))
    if proxy_pass.failed:
        return ToolError(next(reversed(proxy_pass.failed.values())))
    if error.name == "TimeoutError":
        seconds = tab.chat.config.timeout
        return ToolError(f"{url[:200]} did not answer within {seconds:g} s")
    reason = str(error).partition("net::")[2].split()
    return ToolError(f"{url[:200]} was not opened ({reason[0] if reason else 'no reason given'})")


async def click(tab: BrowserTab, ref: str | None) -> None:
    """Click an element that submits nothing."""
    locator, handle, _ = await tab.element(ref)
    info = await element_info(tab, handle)
    if info.submits:
        raise ToolError(f"{ref} submits a form; use action submit with it, which asks the person")
    if info.file:
        raise ToolError(f"{ref} takes a file; use action upload with it")
    tab.may_send = False
    await _perform(tab, ref, locator.click(timeout=8_000, no_wait_after=True))


async def type_text(tab: BrowserTab, ref: str | None, text: str | None) -> str:
    """Keep text for a field until it is submitted."""
    if text is None or len(text) > MAX_TEXT_CHARS:
        raise ToolError(f"give the text to type, at most {MAX_TEXT_CHARS:,} characters")
    _, handle, frame = await tab.element(ref)
    info = await element_info(tab, handle)
    if not info.editable or info.fixed:
        raise ToolError(f"{ref} cannot be typed into; use select or click")
    assert ref is not None
    secret = info.type == "password"
    tab.typed[ref] = PendingText(text, tab.labels.get(ref, ref), frame.url, secret)
    if secret:
        tab.chat.remember(text)
    return (
        f"Kept for {ref} {tab.labels.get(ref, '')}. The page gets it with action submit: with the "
        "ref of the button or field that submits, or without a ref to fill in only."
    )


async def select(tab: BrowserTab, ref: str | None, text: str | None) -> None:
    """Choose an option of a list by its label."""
    locator, handle, _ = await tab.element(ref)
    if not (await element_info(tab, handle)).select:
        raise ToolError(f"{ref} is not a list of options; click it, then an item that it shows")
    if not text:
        raise ToolError("give the option's label as text")
    tab.may_send = False
    await _perform(tab, ref, locator.select_option(label=text, timeout=4_000, no_wait_after=True))


async def press(tab: BrowserTab, ref: str | None, text: str | None) -> None:
    """Press a key that writes nothing."""
    if text not in SAFE_KEYS:
        raise ToolError(
            f"press takes one of: {', '.join(sorted(SAFE_KEYS))}; text is typed with type"
        )
    if ref is not None:
        locator, handle, _ = await tab.element(ref)
        info = await element_info(tab, handle)
        implicit = text == "Enter" and info.in_form and info.editable
        if text in ("Enter", "Space") and (info.submits or implicit):
            raise ToolError(f"that submits a form; use action submit with {ref}")
        tab.may_send = False
        await _perform(tab, ref, locator.press(text, timeout=8_000, no_wait_after=True))
        return
    if text in ("Enter", "Space"):
        raise ToolError(f"give the ref to press {text} on")
    tab.may_send = False
    await tab.answer(tab.page.keyboard.press(text))


async def scroll(tab: BrowserTab, ref: str | None, text: str | None) -> None:
    """Scroll by a screen, to an end, or to an element."""
    if ref is not None:
        locator, _, _ = await tab.element(ref)
        await _perform(tab, ref, locator.scroll_into_view_if_needed(timeout=4_000))
        return
    offset = _SCROLLS.get(text or "down")
    if offset is None:
        raise ToolError(f"scroll takes {', '.join(_SCROLLS)} as text, or a ref")
    await tab.answer(tab.page.evaluate(f"() => scrollBy(0, {offset})"))


async def back(tab: BrowserTab) -> None:
    """Go back to the previous page."""
    page = tab.page
    tab.drop_pending()
    tab.may_send = True
    seconds = tab.chat.config.timeout
    went = await tab.answer(page.go_back(wait_until="commit", timeout=seconds * 1_000), seconds + 5)
    if went is None and page.url == "about:blank":
        tab.note("there was no previous page")


async def wait(tab: BrowserTab, text: str | None) -> None:
    """Wait until words appear, or for two seconds."""
    from playwright.async_api import Error

    if not text:
        await asyncio.sleep(2)
        return
    seconds = min(tab.chat.config.timeout, MAX_WAIT_SECONDS)
    try:
        async with asyncio.timeout(seconds + 1):
            await tab.page.get_by_text(text).first.wait_for(timeout=seconds * 1_000)
    except (Error, TimeoutError):
        tab.note(f"{text[:80]!r} did not appear within {seconds:g} s")


async def screenshot(tab: BrowserTab) -> ImageBlock:
    """Return an image of the page."""
    data = await tab.answer(tab.page.screenshot(type="jpeg", quality=70, timeout=8_000), 15)
    if len(data) > MAX_IMAGE_BYTES:
        raise ToolError("the picture is too large")
    encoded = base64.b64encode(data).decode("ascii")
    return ImageBlock("image/jpeg", encoded, origins=tab.origins())


async def close(tab: BrowserTab) -> bool:
    """Close the newest window. False if none is left."""
    if tab.pages and len(tab.pages) > 1:
        page = tab.pages.pop()
        tab.drop_pending()
        await tab.answer(page.close())
        return True
    await tab.close()
    return False


async def _perform(tab: BrowserTab, ref: str | None, act: Awaitable[object]) -> None:
    from playwright.async_api import Error

    try:
        await tab.answer(act, 15)
    except Error as error:
        if error.name == "TimeoutError":
            await tab.answer(tab.page.evaluate("1"))  # fails if the whole page does not answer
        lines = [line.strip("- ") for line in str(error).splitlines() if line.strip()]
        why = next((line for line in lines if "intercepts" in line or "not " in line), lines[0])
        raise ToolError(f"{ref} could not be used: {why[:200]}") from None
