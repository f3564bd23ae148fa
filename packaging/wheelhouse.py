"""Build one archive that installs Hookline on a server without a network.

python3 packaging/wheelhouse.py [--out DIR] [--python PYTHON]… [--also REQUIREMENT]… [--built DIR]

The archive contains wheels of every package of this tree and of all dependencies, their checksums,
and ``install.sh``. It fits the platform it was built on and the minor version of each PYTHON (by
default the one that runs this script). Needs a package index.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from pins import constraints

ROOT = Path(__file__).resolve().parents[1]
BUILD_REQUIREMENT = "hatchling>=1.27"
TAG = "import sys, sysconfig; print('%d.%d' % sys.version_info[:2], sysconfig.get_platform())"
PERMISSIONS = {"install.sh": 0o755}
GREATEST_TIME = 2**32 - 1
"""The largest time that a gzip header can store."""


class NotBuilt(Exception):
    """A step of the build failed. The message names it and gives its output."""


def run(*command: str | Path) -> str:
    """Return a command's output. Raises ``NotBuilt`` with that output if it fails."""
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise NotBuilt(
            f"{' '.join(words)}\nended with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout.strip()


def pip_of(python: str, folder: Path) -> tuple[Path, ...]:
    """Create an environment for an interpreter and return the command line of its pip."""
    run(python, "-m", "venv", folder)
    return (folder / "bin" / "python", Path("-m"), Path("pip"), Path("--quiet"))


def build(pip: tuple[Path, ...], wheels: Path) -> None:
    """Put a wheel of core and of each plugin into a folder."""
    run(*pip, "install", BUILD_REQUIREMENT)
    folders = sorted(ROOT.glob("plugins/*/*/pyproject.toml"))
    run(
        *(*pip, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", wheels, "."),
        *(file.parent for file in folders),
    )


def download(pip: tuple[Path, ...], minor: str, wheels: Path, also: list[str]) -> None:
    """Download the dependencies of our wheels; constraints keep our own names off the index.

    They fit the first release of a minor version, and so every later one.
    """
    ours = sorted(wheels.glob("hookline*.whl"))
    pins = wheels.parent / "constraints.txt"
    pins.write_text("".join(f"{line}\n" for line in constraints(wheels)), "utf-8")
    run(
        *(*pip, "download", "--only-binary", ":all:", "--python-version", f"{minor}.0"),
        *("--constraint", pins, "--dest", wheels, *ours, *also),
    )


def version() -> str:
    """Return the version of core, which is in the archive's name."""
    source = (ROOT / "core" / "hookline" / "__init__.py").read_text("utf-8")
    return source.partition('__version__ = "')[2].partition('"')[0]


def extras() -> list[str]:
    """Return the extras of core, which ``install.sh --with`` accepts."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return sorted(tomllib.load(file)["project"]["optional-dependencies"])


def checksums(folder: Path) -> str:
    """Return the text of a ``SHA256SUMS`` file for all files in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n"
        for path in files
    )


def packed(folder: Path, out: Path) -> Path:
    """Pack a folder into a reproducible archive, and write its checksum to a second file."""
    time = min(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), GREATEST_TIME)

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = time
        name = Path(member.name).name
        member.mode = 0o755 if member.isdir() else PERMISSIONS.get(name, 0o644)
        return member

    out.mkdir(parents=True, exist_ok=True)
    archive = out / f"{folder.name}.tar.gz"
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=time) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        tar.add(folder, folder.name, filter=plain)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    Path(f"{archive}.sha256").write_text(f"{digest}  {archive.name}\n", "utf-8")
    return archive


def make(options: argparse.Namespace, scratch: Path) -> Path:
    """Build the archive in a scratch folder and return the path of the result."""
    tags = [run(python, "-c", TAG).split() for python in options.python]
    if len({platform for _, platform in tags}) != 1:
        raise NotBuilt("Every --python must be of this platform.")
    inside = scratch / f"hookline-{version()}-{tags[0][1]}"
    wheels = inside / "wheels"
    wheels.mkdir(parents=True)
    for number, (python, (minor, _)) in enumerate(zip(options.python, tags, strict=True)):
        pip = pip_of(python, scratch / f"env{number}")
        if number == 0 and options.built is None:
            build(pip, wheels)
        elif number == 0:
            for wheel in options.built.glob("hookline*.whl"):
                shutil.copy2(wheel, wheels)
        download(pip, minor, wheels, options.also)
    (inside / "constraints.txt").unlink()
    (inside / "pythons").write_text("".join(f"{minor}\n" for minor, _ in tags), "utf-8")
    (inside / "platform").write_text(f"{tags[0][1]}\n", "utf-8")
    (inside / "extras").write_text("".join(f"{name}\n" for name in extras()), "utf-8")
    (inside / "version").write_text(f"{version()}\n", "utf-8")
    shutil.copy2(ROOT / "packaging" / "install.sh", inside)
    (inside / "SHA256SUMS").write_text(checksums(inside), "utf-8")
    return packed(inside, options.out)


def main() -> int:
    """Read the options, build, and print where the archive is."""
    parser = argparse.ArgumentParser(description="Build an archive for a server without a network.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder for it (dist)")
    parser.add_argument(
        "--python", action="append", help="an interpreter to support; may be repeated"
    )
    parser.add_argument(
        "--also", action="append", default=[], help="an additional requirement, as for pip"
    )
    parser.add_argument(
        "--built", type=Path, help="wheels of `uv build --all-packages` to use instead of building"
    )
    options = parser.parse_args()
    options.python = options.python or [sys.executable]
    with tempfile.TemporaryDirectory(prefix="hookline-wheelhouse-") as scratch:
        try:
            sys.stdout.write(f"{make(options, Path(scratch))}\n")
        except NotBuilt as failure:
            sys.stderr.write(f"wheelhouse: {failure}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
