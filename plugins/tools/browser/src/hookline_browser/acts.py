"""What may be done on a page without asking a person, one function for each action."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, ImageBlock, Refused, ToolError

from .deeds import about
from .tab import Tab, Typed

if TYPE_CHECKING:
    from playwright.async_api import Error

KEYS = frozenset(
    (
        *("Enter", "Space", "Escape", "Tab", "Shift+Tab", "Home", "End", "Backspace", "Delete"),
        *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "PageUp", "PageDown"),
    )
)
"""Keys that write nothing: a letter would reach the page without a person's word."""
LONGEST_TEXT = 20_000
LARGEST_IMAGE = 5_000_000
LONGEST_WAIT = 30.0
_SCROLLS = {"down": "innerHeight * 0.8", "up": "-innerHeight * 0.8", "top": "-1e9", "bottom": "1e9"}


async def open_url(tab: Tab, host: Host, url: str | None) -> None:
    """Open an address. Raises ``Refused``, ``ToolError``."""
    from playwright.async_api import Error

    if not url:
        raise ToolError("give the url to open")
    if (reason := host.http.judge(url)) is not None:
        raise Refused(reason)
    page = await tab.usable_page()
    tab.forget()
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
        tab.require_well()
        await tab.rest()  # a download is told of after the page has failed
        if len(tab.downloads) > before:
            return
        failure = _failure(tab, url, error)
        await tab.close()
        raise failure from None


def _failure(tab: Tab, url: str, error: Error) -> Exception:
    """Why an address was not opened, in a sentence."""
    pass_ = tab.chat.pass_
    if pass_.is_over:
        most = tab.chat.config.max_megabytes
        return ToolError(f"{url[:200]} was not opened: it has more than {most} MB")
    if pass_.refused:
        return Refused(next(reversed(pass_.refused.values())))
    if pass_.failed:
        return ToolError(next(reversed(pass_.failed.values())))
    if error.name == "TimeoutError":
        seconds = tab.chat.config.timeout
        return ToolError(f"{url[:200]} did not answer within {seconds:g} s")
    reason = str(error).partition("net::")[2].split()
    return ToolError(f"{url[:200]} was not opened ({reason[0] if reason else 'no reason given'})")


async def click(tab: Tab, ref: str | None) -> None:
    """Click an element that submits nothing."""
    locator, handle, _ = await tab.element(ref)
    found = await about(tab, handle)
    if found.submits:
        raise ToolError(f"{ref} submits a form; use action submit with it, which asks the person")
    if found.file:
        raise ToolError(f"{ref} takes a file; use action upload with it")
    tab.may_send = False
    await _do(tab, ref, locator.click(timeout=8_000, no_wait_after=True))


async def type_text(tab: Tab, ref: str | None, text: str | None) -> str:
    """Keep text for a field until it is submitted."""
    if text is None or len(text) > LONGEST_TEXT:
        raise ToolError(f"give the text to type, at most {LONGEST_TEXT:,} characters")
    _, handle, frame = await tab.element(ref)
    found = await about(tab, handle)
    if not found.editable or found.fixed:
        raise ToolError(f"{ref} is no field that can be typed into; select and click are for those")
    assert ref is not None
    secret = found.type == "password"
    tab.typed[ref] = Typed(text, tab.labels.get(ref, ref), frame.url, secret)
    if secret:
        tab.chat.remember(text)
    return (
        f"Kept for {ref} {tab.labels.get(ref, '')}. The page gets it with action submit: with the "
        "ref of the button or field that submits, or without a ref to fill in only."
    )


async def select(tab: Tab, ref: str | None, text: str | None) -> None:
    """Choose an option of a list by its label."""
    locator, handle, _ = await tab.element(ref)
    if not (await about(tab, handle)).select:
        raise ToolError(f"{ref} is no list of options; click it, and then one of what it shows")
    if not text:
        raise ToolError("give the option's label as text")
    tab.may_send = False
    await _do(tab, ref, locator.select_option(label=text, timeout=4_000, no_wait_after=True))


async def press(tab: Tab, ref: str | None, text: str | None) -> None:
    """Press a key that writes nothing."""
    if text not in KEYS:
        raise ToolError(f"press takes one of: {', '.join(sorted(KEYS))}; text is typed with type")
    if ref is not None:
        locator, handle, _ = await tab.element(ref)
        found = await about(tab, handle)
        implicit = text == "Enter" and found.in_form and found.editable
        if text in ("Enter", "Space") and (found.submits or implicit):
            raise ToolError(f"that submits a form; use action submit with {ref}")
        tab.may_send = False
        await _do(tab, ref, locator.press(text, timeout=8_000, no_wait_after=True))
        return
    if text in ("Enter", "Space"):
        raise ToolError(f"say with a ref what {text} is pressed on")
    tab.may_send = False
    await tab.answer(tab.page.keyboard.press(text))


async def scroll(tab: Tab, ref: str | None, text: str | None) -> None:
    """Scroll by a screen, to an end, or to an element."""
    if ref is not None:
        locator, _, _ = await tab.element(ref)
        await _do(tab, ref, locator.scroll_into_view_if_needed(timeout=4_000))
        return
    way = _SCROLLS.get(text or "down")
    if way is None:
        raise ToolError(f"scroll takes {', '.join(_SCROLLS)} as text, or a ref")
    await tab.answer(tab.page.evaluate(f"() => scrollBy(0, {way})"))


async def back(tab: Tab) -> None:
    """Go back to the page before."""
    page = tab.page
    tab.forget()
    tab.may_send = True
    seconds = tab.chat.config.timeout
    went = await tab.answer(page.go_back(wait_until="commit", timeout=seconds * 1_000), seconds + 5)
    if went is None and page.url == "about:blank":
        tab.note("there was no page before")


async def wait(tab: Tab, text: str | None) -> None:
    """Wait for words to appear, or a moment."""
    from playwright.async_api import Error

    if not text:
        await asyncio.sleep(2)
        return
    seconds = min(tab.chat.config.timeout, LONGEST_WAIT)
    try:
        async with asyncio.timeout(seconds + 1):
            await tab.page.get_by_text(text).first.wait_for(timeout=seconds * 1_000)
    except (Error, TimeoutError):
        tab.note(f"{text[:80]!r} did not appear within {seconds:g} s")


async def screenshot(tab: Tab) -> ImageBlock:
    """Return what the page looks like now."""
    data = await tab.answer(tab.page.screenshot(type="jpeg", quality=70, timeout=8_000), 15)
    if len(data) > LARGEST_IMAGE:
        raise ToolError("the picture is too large")
    return ImageBlock("image/jpeg", base64.b64encode(data).decode("ascii"), tab.origins())


async def close(tab: Tab) -> bool:
    """Close the newest window; False if none is left."""
    if tab.pages and len(tab.pages) > 1:
        page = tab.pages.pop()
        tab.forget()
        await tab.answer(page.close())
        return True
    await tab.close()
    return False


async def _do(tab: Tab, ref: str | None, act: Awaitable[object]) -> None:
    from playwright.async_api import Error

    try:
        await tab.answer(act, 15)
    except Error as error:
        if error.name == "TimeoutError":
            await tab.answer(tab.page.evaluate("1"))  # it may be the page that does not answer
        lines = [line.strip("- ") for line in str(error).splitlines() if line.strip()]
        why = next((line for line in lines if "intercepts" in line or "not " in line), lines[0])
        raise ToolError(f"{ref} could not be used: {why[:200]}") from None
