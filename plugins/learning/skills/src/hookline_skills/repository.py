"""A git repository as a source: fetched shallow and bare, read as an archive, nothing of it run.

Git is told to ignore every configuration but what stands here: the user's and the system's, hooks,
filters, credential helpers, submodules and every protocol besides https.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from hookline_hookspecs import HooklineError, Host, Refused

from .archives import ARCHIVE_BYTES

SECONDS = 120.0
"""How long fetching may take."""
FETCHED_BYTES = 200_000_000
"""Size of the repository on disk, at most."""
LOOK = 0.2
"""Seconds between two looks at that size."""
SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null"),
    *("core.askPass=", "credential.helper=", "credential.interactive=false", "init.templateDir="),
    *("protocol.allow=never", "protocol.https.allow=always", "http.followRedirects=false"),
    *("http.cookieFile=", "http.emptyAuth=false", "submodule.recurse=false", "gc.auto=0"),
    *("fetch.fsckObjects=true", "transfer.fsckObjects=true", "tar.umask=0022"),
)
PASSED = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "HTTPS_PROXY", "https_proxy")
"""What of the environment git may see: where programs and certificates are, and the proxy."""


class FetchFailed(HooklineError):
    """Git could not fetch the repository; a sentence."""


async def fetch(host: Host, url: str, reference: str, into: Path) -> tuple[Path, str]:
    """Fetch one state of a repository; a tar archive of it, and its commit (hexadecimal).

    Args:
        url: https, without user and password.
        reference: a branch or tag, or empty for the repository's own.
        into: an empty folder for what is made.

    Raises:
        Refused: the URL is not allowed.
        FetchFailed: git is missing, or could not do it.
    """
    _judge(host, url, reference)
    if shutil.which("git") is None:
        raise FetchFailed("git is not installed; download an archive of the repository instead")
    bare, archive, empty = into / "bare", into / "source.tar", into / "empty"
    empty.mkdir()
    branch = ("--branch", reference) if reference else ()
    options = ("--bare", "--depth=1", "--single-branch", "--no-tags", "--template=", "--quiet")
    await _git(empty, "clone", *options, *branch, "--", url, str(bare), watched=bare)
    inside = ("--git-dir", str(bare))
    commit = await _git(empty, *inside, "rev-parse", "--verify", "HEAD^{commit}")
    tree = (*inside, "archive", "--format=tar", f"--output={archive}", "HEAD")
    await _git(empty, *tree, watched=into)
    return archive, commit.strip()


def _judge(host: Host, url: str, reference: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise Refused(f"{url[:200]!r}: a repository is fetched over https only")
    if "@" in parts.netloc:
        raise Refused("the address holds a user or password; only public repositories are fetched")
    if parts.query or parts.fragment or any(char.isspace() for char in url):
        raise Refused(f"{url[:200]!r} is no plain address of a repository")
    if reference.startswith("-") or not all(c.isalnum() or c in "._-/" for c in reference):
        raise Refused(f"{reference[:100]!r} is no name of a branch or tag")
    reason = host.http.judge(url)
    if reason:
        raise Refused(reason)


async def _git(home: Path, *arguments: str, watched: Path | None = None) -> str:
    settings = [part for setting in SETTINGS for part in ("-c", setting)]
    process = await asyncio.create_subprocess_exec(
        "git",
        *settings,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=home,
        env=_environment(home),
        start_new_session=True,
    )
    talking = asyncio.ensure_future(process.communicate())
    try:
        async with asyncio.timeout(SECONDS):
            while not (await asyncio.wait([talking], timeout=LOOK))[0]:
                if watched is not None and await asyncio.to_thread(_size, watched) > FETCHED_BYTES:
                    raise FetchFailed(f"the repository is larger than {FETCHED_BYTES:,} bytes")
        output, errors = talking.result()
    except TimeoutError:
        raise FetchFailed(f"git took longer than {SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        await asyncio.gather(talking, return_exceptions=True)
    if process.returncode:
        said = errors.decode("utf-8", "replace").strip().splitlines()
        raise FetchFailed(
            f"git could not fetch it: {said[-1][:300] if said else 'no reason given'}"
        )
    return output[:ARCHIVE_BYTES].decode("utf-8", "replace")


def _environment(home: Path) -> dict[str, str]:
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    return {
        **passed,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_ALLOW_PROTOCOL": "https",
        "LC_ALL": "C",
    }


def _size(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += (Path(parent) / file).lstat().st_size
    return total
