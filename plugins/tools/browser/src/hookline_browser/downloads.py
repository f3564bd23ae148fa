"""Saves downloads into the workspace."""

from __future__ import annotations

import asyncio
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hookline_hookspecs import Context, HooklineError, Paths

from .preview import quoted
from .tab import BrowserTab

if TYPE_CHECKING:
    from playwright.async_api import Download

MAX_NAME_BYTES = 200
"""A file name has at most 255 bytes on Linux; a number may follow."""
MAX_NAME_CHARS = 100
SIZE_CHECK_INTERVAL = 0.25
MAX_NAME_ATTEMPTS = 1_000
_UNSAFE = re.compile(r'[\\/:*?"<>|%$`\'\s]+')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_ORIGIN_ATTRIBUTE = "user.xdg.origin.url"
"""The attribute for a file's origin (freedesktop.org), which the plugin ``provenance`` reads."""


async def save_downloads(ctx: Context, tab: BrowserTab) -> None:
    """Save the tab's downloads; add a note for each, with the reason if one was not saved."""
    found, tab.downloads = tab.downloads, []
    for download in found:
        tab.note(await _save_download(ctx, tab, download))


async def _save_download(ctx: Context, tab: BrowserTab, download: Download) -> str:
    config = tab.chat.config
    limit = config.max_megabytes * 1_000_000
    name = safe_name(download.suggested_filename)
    watching = asyncio.create_task(_watch_size(download, tab.chat.folder / "downloads", limit))
    try:
        async with asyncio.timeout(config.timeout * 2):
            failure = await download.failure()
            if failure is not None:
                over = tab.chat.proxy_pass.is_over or (watching.done() and not watching.cancelled())
                why = f"it has more than {config.max_megabytes} MB" if over else str(failure)[:100]
                return f"{name} was not downloaded: {why}"
            path = await download.path()
        place, size = await asyncio.to_thread(
            _save, ctx.paths, Path(config.downloads) / name, path, download.url, limit
        )
        return f"downloaded {quoted(str(place))}, {size:,} bytes"
    except TimeoutError:
        await _drop(download)
        return f"{name} was not downloaded: it took longer than {config.timeout * 2:g} s"
    except (OSError, HooklineError) as error:
        return f"{name} was not saved: {error}"
    finally:
        watching.cancel()
        await _drop(download)


async def _drop(download: Download) -> None:
    with suppress(Exception):
        async with asyncio.timeout(3):
            await download.cancel()
            await download.delete()


async def _watch_size(download: Download, folder: Path, limit: int) -> None:
    """Cancel a download that grows over ``limit`` bytes, for example when decompressed."""
    while True:
        sizes = await asyncio.to_thread(lambda: list(_sizes(folder)))
        if max(sizes, default=0) > limit:
            await download.cancel()
            return
        await asyncio.sleep(SIZE_CHECK_INTERVAL)


def _sizes(folder: Path) -> Iterator[int]:
    for file in folder.rglob("*"):
        with suppress(OSError):
            yield file.stat().st_size


def safe_name(suggested: str) -> str:
    """A safe file name from a page's suggestion: without folders, leading dots, invisible
    characters, and those with a meaning for shells or systems."""
    plain = "".join(
        char
        for char in unicodedata.normalize("NFC", suggested)
        if unicodedata.category(char)[0] not in "CZ" or char == " "
    )
    base = re.split(r"[\\/]", plain)[-1]
    name = _UNSAFE.sub("_", base).strip(" ._-~")
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending) > 10:
        stem, ending = name, ""
    tail = f".{ending}" if ending else ""
    start = stem[: MAX_NAME_CHARS - len(tail)].encode("utf-8", "ignore")
    room = MAX_NAME_BYTES - len(tail.encode("utf-8", "ignore"))
    name = (start[:room].decode("utf-8", "ignore") + tail).strip(" .")
    if not name:
        return "download"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


def _save(paths: Paths, target_path: Path, source: Path, url: str, limit: int) -> tuple[Path, int]:
    """Copy into a new file of the workspace; return its relative path and its size in bytes.

    Raises ``OSError`` and ``Refused``.
    """
    if (size := source.stat().st_size) > limit:
        raise OSError(f"it has {size:,} bytes")
    workspace = Path(os.path.realpath(paths.workspace))
    if (
        paths.check_path(str(target_path)) is not None
        or paths.caution(str(target_path)) is not None
    ):
        target_path = target_path.with_name(f"{target_path.name}.download")
    for number in range(1, MAX_NAME_ATTEMPTS):
        candidate = target_path
        if number > 1:
            candidate = target_path.with_name(f"{target_path.stem}-{number}{target_path.suffix}")
        real = paths.resolve(str(candidate))
        if not real.is_relative_to(workspace):
            raise PermissionError(f"{str(target_path.parent)!r} is outside of the workspace")
        with suppress(FileExistsError):
            _copy(source, real, paths, url)
            return real.relative_to(workspace), size
    raise FileExistsError(f"there are {MAX_NAME_ATTEMPTS:,} files {str(target_path)!r}")


def _copy(source: Path, real: Path, paths: Paths, url: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with paths.folder(real) as (name, handle):
        descriptor = os.open(name, flags, 0o600, dir_fd=handle)
        with os.fdopen(descriptor, "wb") as target, source.open("rb") as data:
            while piece := data.read(1 << 20):
                target.write(piece)
            if hasattr(os, "setxattr"):
                with suppress(OSError):
                    os.setxattr(
                        target.fileno(), _ORIGIN_ATTRIBUTE, url.encode("utf-8", "replace")[:2_000]
                    )
