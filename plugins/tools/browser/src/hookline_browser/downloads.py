"""Files that pages send, on their way into the workspace."""

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

from .tab import Tab
from .wording import quoted

if TYPE_CHECKING:
    from playwright.async_api import Download

LONGEST_NAME = 100
LOOK_EVERY = 0.25
MOST_NAMES = 1_000
_UNSAFE = re.compile(r'[\\/:*?"<>|%$`\'\s]+')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_SOURCE = "user.xdg.origin.url"
"""The attribute in which browsers note where a file came from (freedesktop.org); the plugin
``provenance`` reads it."""


async def collect(ctx: Context, tab: Tab) -> None:
    """Save what was downloaded; note each file, and why one was not saved."""
    found, tab.downloads = tab.downloads, []
    for download in found:
        tab.note(await _collected(ctx, tab, download))


async def _collected(ctx: Context, tab: Tab, download: Download) -> str:
    config = tab.chat.config
    limit = config.max_megabytes * 1_000_000
    name = safe_name(download.suggested_filename)
    watching = asyncio.create_task(_watch(download, tab.chat.folder / "downloads", limit))
    try:
        async with asyncio.timeout(config.timeout * 2):
            failure = await download.failure()
            if failure is not None:
                over = tab.chat.pass_.is_over or (watching.done() and not watching.cancelled())
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


async def _watch(download: Download, folder: Path, limit: int) -> None:
    """Cancel a download that grows over ``limit``: what comes compressed may swell."""
    while True:
        sizes = await asyncio.to_thread(lambda: list(_sizes(folder)))
        if max(sizes, default=0) > limit:
            await download.cancel()
            return
        await asyncio.sleep(LOOK_EVERY)


def _sizes(folder: Path) -> Iterator[int]:
    for file in folder.rglob("*"):
        with suppress(OSError):
            yield file.stat().st_size


def safe_name(suggested: str) -> str:
    """The name for a file, made of what a page suggests: no folder, nothing hidden or invisible,
    nothing that a shell or a system reads as something else."""
    plain = "".join(
        char
        for char in unicodedata.normalize("NFC", suggested)
        if unicodedata.category(char)[0] not in "CZ" or char == " "
    )
    base = re.split(r"[\\/]", plain)[-1]
    name = _UNSAFE.sub("_", base).strip(" ._-~")
    stem, dot, ending = name.rpartition(".")
    if dot and len(ending) <= 10:
        name = f"{stem[: LONGEST_NAME - len(ending) - 1]}.{ending}"
    name = name[:LONGEST_NAME]
    if not name:
        return "download"
    return f"_{name}" if _RESERVED.fullmatch(name) else name


def _save(paths: Paths, wanted: Path, source: Path, url: str, limit: int) -> tuple[Path, int]:
    """Copy into a new file of the workspace; return its path below that, and its bytes.

    Raises ``OSError`` and ``Refused``.
    """
    if (size := source.stat().st_size) > limit:
        raise OSError(f"it has {size:,} bytes")
    workspace = Path(os.path.realpath(paths.workspace))
    if paths.judge(str(wanted)) is not None or paths.caution(str(wanted)) is not None:
        wanted = wanted.with_name(f"{wanted.name}.download")
    for number in range(1, MOST_NAMES):
        tried = wanted
        if number > 1:
            tried = wanted.with_name(f"{wanted.stem}-{number}{wanted.suffix}")
        real = paths.resolve(str(tried))
        if not real.is_relative_to(workspace):
            raise PermissionError(f"{str(wanted.parent)!r} is outside of the workspace")
        with suppress(FileExistsError):
            _copy(source, real, paths, url)
            return real.relative_to(workspace), size
    raise FileExistsError(f"there are {MOST_NAMES:,} files {str(wanted)!r}")


def _copy(source: Path, real: Path, paths: Paths, url: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with paths.folder(real) as (name, handle):
        descriptor = os.open(name, flags, 0o600, dir_fd=handle)
        with os.fdopen(descriptor, "wb") as target, source.open("rb") as data:
            while piece := data.read(1 << 20):
                target.write(piece)
            if hasattr(os, "setxattr"):
                with suppress(OSError):
                    os.setxattr(target.fileno(), _SOURCE, url.encode("utf-8", "replace")[:2_000])
