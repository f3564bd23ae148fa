"""Fetches one commit of a git repository as a tar archive; nothing in it is run.

Git ignores all configuration except the settings here: the person's, the system's, hooks, filters,
credential helpers, submodules, and every protocol other than https.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from hookline_hookspecs import HooklineError, Host, Refused
from hookline_hookspecs.own_programs import own_path, own_program

FETCH_TIMEOUT = 180.0
"""Seconds that each git command may take."""
MAX_REPOSITORY_BYTES = 400_000_000
_SIZE_CHECK_INTERVAL = 0.3
_SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null"),
    *("core.askPass=", "credential.helper=", "credential.interactive=false", "init.templateDir="),
    *("protocol.allow=never", "protocol.https.allow=always", "http.followRedirects=false"),
    *("http.cookieFile=", "http.emptyAuth=false", "submodule.recurse=false", "gc.auto=0"),
    *("fetch.fsckObjects=true", "transfer.fsckObjects=true", "tar.umask=0022"),
)
_INHERITED = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "HTTPS_PROXY", "https_proxy")


async def fetch_repository(host: Host, url: str, reference: str, into: Path) -> tuple[Path, str]:
    """Fetch one commit; return a tar archive of it, and its hash.

    Args:
        url: https, without user and password.
        reference: a branch, a tag or a full commit hash; empty for the default branch.
        into: an empty folder for the files.

    Raises:
        Refused: the URL is not allowed.
        HooklineError: git is missing or failed.
    """
    _check_address(host, url, reference)
    bare, archive, empty = into / "bare", into / "source.tar", into / "empty"
    empty.mkdir()
    inside = ("--git-dir", str(bare))
    await _git(empty, "init", "--bare", "--quiet", "--template=", str(bare))
    wanted = reference or "HEAD"
    fetch = ("fetch", "--depth=1", "--no-tags", "--quiet", "--", url, wanted)
    await _git(empty, *inside, *fetch, watched=bare)
    commit = await _git(empty, *inside, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
    tree = (*inside, "archive", "--format=tar", f"--output={archive}", commit.strip())
    await _git(empty, *tree, watched=into)
    return archive, commit.strip()


def _check_address(host: Host, url: str, reference: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise Refused(f"{url[:200]!r}: repositories are fetched over https only")
    if "@" in parts.netloc:
        raise Refused("the address has a user or password; only public repositories are fetched")
    if parts.query or parts.fragment or any(char.isspace() for char in url):
        raise Refused(f"{url[:200]!r} is not a plain repository address")
    if reference.startswith("-") or not all(c.isalnum() or c in "._-/" for c in reference):
        raise Refused(f"{reference[:100]!r} is not a name of a branch or tag")
    if reason := host.http.check_url(url):
        raise Refused(reason)


async def _git(home: Path, *arguments: str, watched: Path | None = None) -> str:
    if (program := own_program("git")) is None:
        raise HooklineError("git is not installed; download an archive of the repository instead")
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    process = await asyncio.create_subprocess_exec(
        program,
        *settings,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=home,
        env=_environment(home),
        start_new_session=True,
    )
    communication = asyncio.ensure_future(process.communicate())
    try:
        async with asyncio.timeout(FETCH_TIMEOUT):
            while not (await asyncio.wait([communication], timeout=_SIZE_CHECK_INTERVAL))[0]:
                if watched and await asyncio.to_thread(_bytes, watched) > MAX_REPOSITORY_BYTES:
                    raise HooklineError(
                        f"the repository is larger than {MAX_REPOSITORY_BYTES:,} bytes"
                    )
        output, errors = communication.result()
    except TimeoutError:
        raise HooklineError(f"git took longer than {FETCH_TIMEOUT:g} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        await asyncio.gather(communication, return_exceptions=True)
    if process.returncode:
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        raise HooklineError(
            f"git could not fetch the repository: {lines[-1][:300] if lines else 'no reason given'}"
        )
    return output[:1_000_000].decode("utf-8", "replace")


def _environment(home: Path) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        **passed,
        "PATH": own_path(),
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


def _bytes(folder: Path) -> int:
    total = 0
    for parent, _, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += (Path(parent) / file).lstat().st_size
    return total
