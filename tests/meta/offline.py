"""Checks that the archive of ``packaging/wheelhouse.py`` installs without a network.

Part of ``python -m meta.packaging_check``: it builds the archive, unpacks it in an empty folder,
and installs from it with ``install.sh``, uv and pipx, each cut off from every network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
from functools import cache
from pathlib import Path

from meta.check_environment import CheckEnvironment, CheckFailed, expect
from meta.tree import ROOT

RECIPE = ROOT / "packaging" / "wheelhouse.py"
SCENARIO = "steps: [{text: It works without a network.}]\n"
NOWHERE = "http://127.0.0.1:9/simple"
"""An index that nobody serves, for where a network cannot be taken away."""
STANDARD = "hookline[standard]"


@cache
def cut_off() -> tuple[str, ...]:
    """A command prefix that removes the network; empty if Linux refuses that."""
    for words in (("unshare", "-n"), ("unshare", "-rn")):
        if shutil.which(words[0]) and not os.spawnlp(os.P_WAIT, words[0], *words, "true"):
            return words
    return ()


class Server:
    """A machine without a network, which has the unpacked archive and nothing else."""

    def __init__(self, environment: CheckEnvironment, unpacked: Path) -> None:
        self.environment = environment
        self.unpacked = unpacked
        self.prefix = environment.folder / "prefix"
        self.bin = environment.folder / "bin"
        scenario = environment.folder / "scenario.yaml"
        scenario.write_text(SCENARIO, "utf-8")

    @property
    def wheels(self) -> Path:
        """The folder of the archive's wheels."""
        return self.unpacked / "wheels"

    def run(self, *command: str | Path, **settings: str | Path) -> str:
        """What a command prints that has no network and none of this environment's settings."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.environment.folder),
            "HOOKLINE_HOME": str(self.environment.home),
            "PIP_INDEX_URL": NOWHERE,
            "UV_DEFAULT_INDEX": NOWHERE,
            "UV_CACHE_DIR": str(self.environment.folder / "cache"),
            "UV_PYTHON_DOWNLOADS": "never",
        }
        words = [f"{name}={value}" for name, value in (env | settings).items()]
        return self.environment.run(*cut_off(), "env", "-i", *words, *command)

    def install(self, *options: str | Path) -> str:
        """Run ``install.sh``."""
        return self.run(
            *("sh", self.unpacked / "install.sh", "--prefix", self.prefix, "--bin", self.bin),
            *("--python", sys.executable, *options),
        )

    def refuses(self, *options: str | Path) -> str:
        """What ``install.sh`` says where it ends with an error."""
        try:
            self.install(*options)
        except CheckFailed as error:
            return str(error)
        raise CheckFailed(f"install.sh {options} ended without an error")

    def answers(self, hookline: Path) -> None:
        """One turn with a scripted model."""
        told = self.run(hookline, "run", "--model", "scripted/scenario.yaml", "Hello?")
        expect(found=told.strip(), wanted="It works without a network.", what="answer")

    @property
    def releases(self) -> list[str]:
        """What is installed, the oldest first."""
        return sorted(folder.name for folder in (self.prefix / "releases").iterdir())


def archive_of(environment: CheckEnvironment, built: Path) -> Path:
    """Build the archive, compare its checksums, and unpack it."""
    out = environment.folder / "out"
    environment.run(sys.executable, RECIPE, "--built", built, "--out", out, cwd=ROOT)
    [archive] = out.glob("*.tar.gz")
    told = Path(f"{archive}.sha256").read_text("utf-8").split()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    expect(found=told, wanted=[digest, archive.name], what="checksum of the archive")
    with tarfile.open(archive) as tar:
        tar.extractall(environment.folder, filter="data")
    return environment.folder / archive.name.removesuffix(".tar.gz")


def check_contents(unpacked: Path, built: Path) -> None:
    """Every file is listed with its checksum, and our wheels are those that were built."""
    lines = (unpacked / "SHA256SUMS").read_text("utf-8").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = {
        str(path.relative_to(unpacked)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in unpacked.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    expect(found=found, wanted=listed, what="SHA256SUMS")
    ours = {wheel.name: wheel.read_bytes() for wheel in built.glob("*.whl")}
    packed = {name: (unpacked / "wheels" / name).read_bytes() for name in ours}
    expect(found=packed == ours, wanted=True, what="our wheels are those that were built")


def check_install(server: Server) -> None:
    """``install.sh`` installs, upgrades, and refuses what would do harm; then it uninstalls."""
    hookline = server.bin / "hookline"
    server.install("--with", "webhook")
    server.answers(hookline)
    told = server.run(hookline, "demo", "fix")
    expect(found="the project's tests pass" in told, wanted=True, what=f"demo fix: {told}")
    server.run(hookline, "plugins", "install", "--yes", "hookline-scheduler")
    first = server.releases
    server.install()
    expect(found=server.releases[:-1], wanted=first, what="the release before an upgrade")
    server.run(server.prefix / "current" / "bin" / "python", "-c", "import hookline_webhook")

    wheel = next(server.wheels.glob("pluggy*.whl"))
    kept = wheel.read_bytes()
    wheel.write_bytes(kept + b"x")
    (server.wheels / "added.whl").write_bytes(b"")
    told = server.refuses()
    expect(found="changed" in told and "not listed" in told, wanted=True, what=f"harm: {told}")
    wheel.write_bytes(kept)
    (server.wheels / "added.whl").unlink()
    told = server.refuses("--with", "nonesuch")
    expect(found="telegram" in told, wanted=True, what=f"--with: {told}")
    server.answers(hookline)

    server.run("sh", server.prefix / "install.sh", "--uninstall", "--prefix", server.prefix)
    left = [path for path in (server.prefix, hookline) if os.path.lexists(path)]
    expect(found=left, wanted=[], what="left by --uninstall")
    expect(found=(server.environment.home / "config.yaml").exists(), wanted=True, what="data kept")


def check_uv(server: Server) -> None:
    """``uv tool install`` with nothing but the folder of wheels, and an empty cache."""
    tools = {"UV_TOOL_DIR": server.environment.folder / "tools", "UV_TOOL_BIN_DIR": server.bin}
    server.run(
        *("uv", "tool", "install", "--quiet", "--python", sys.executable, "--offline"),
        *("--no-index", "--find-links", server.wheels, STANDARD),
        **tools,
    )
    server.answers(server.bin / "hookline")
    server.run("uv", "tool", "uninstall", "--quiet", "hookline", **tools)


def check_pipx(server: Server) -> str | None:
    """``pipx install`` likewise; the reason where pipx itself cannot be had."""
    own = server.environment.folder / "pipx"
    try:
        server.environment.run("uv", "venv", "--quiet", "--python", sys.executable, own)
        server.environment.run("uv", "pip", "install", "--quiet", "--python", own, "pipx")
    except CheckFailed as failure:
        return f"pipx cannot be had: {failure}"
    folders = {"PIPX_HOME": server.environment.folder / "pipx-home", "PIPX_BIN_DIR": server.bin}
    server.run(
        *(own / "bin" / "pipx", "install", "--python", sys.executable),
        *("--pip-args", f"--no-index --find-links {server.wheels}", STANDARD),
        **folders,
    )
    server.answers(server.bin / "hookline")
    return None


def check(folder: Path, built: Path) -> None:
    """All checks of the archive."""
    environment = CheckEnvironment(folder / "archive")
    unpacked = archive_of(environment, built)
    check_contents(unpacked, built)
    server = Server(environment, unpacked)
    check_install(server)
    check_uv(server)
    skipped = check_pipx(server)
    if skipped or not cut_off():
        words = skipped or "no network can be taken away here; an index that nobody serves stood in"
        print(f"packaging: archive: {words}", file=sys.stderr)
