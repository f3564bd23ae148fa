"""Parses what a person asks to install: a name, a wheel, a folder or an address.

Paths become absolute, because pip and uv run in the home, away from any project's settings.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from .errors import USAGE, InstallerError

_ADDRESS = re.compile(r"(?i)^[a-z][a-z0-9+.-]*:/")
_EXTRAS = re.compile(r"^(?P<path>.+?)(?P<extras>\[[^\[\]]*\])?$", re.DOTALL)
_USER = re.compile(r"(?i)(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^/@\s:]*)(?P<rest>:[^/@\s]*)?@")
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tar")
"""Endings of the file names that pip accepts as archives."""


@dataclass(frozen=True)
class InstallSpec:
    """One package to install.

    ``text`` is the argument for pip or uv; ``name`` is the distribution's canonical name, if it is
    known without a build; ``path`` is the wheel, archive or folder, if it is one; ``also`` are
    dependencies that must be installed from elsewhere than an index.
    """

    text: str
    name: str | None = None
    path: Path | None = None
    editable: bool = False
    extras: tuple[str, ...] = ()
    also: tuple[InstallSpec, ...] = ()

    @property
    def shown(self) -> str:
        """The text to show, without passwords."""
        return mask_passwords(self.text)

    @property
    def arguments(self) -> list[str]:
        """The arguments for pip and uv."""
        return ["--editable", self.text] if self.editable else [self.text]

    @property
    def recorded(self) -> str:
        """The text for ``plugins.lock``, without passwords; git or netrc can supply them."""
        return _USER.sub(_without_password, self.text)

    def pinned(self, version: str) -> InstallSpec:
        """The same package at exactly ``version``; unchanged unless it is a plain name."""
        if self.name is None or self.path is not None:
            return self
        requirement = Requirement(self.text)
        if requirement.url is not None:
            return self
        requirement.specifier = SpecifierSet(f"=={version}")
        return replace(self, text=str(requirement))


def mask_passwords(text: str) -> str:
    """Mask passwords and tokens in the addresses of a text."""
    return _USER.sub(lambda m: m[0] if _is_ssh_user(m) else f"{m['scheme']}://***@", text)


def parse(text: str, folder: Path) -> InstallSpec:
    """Parse SPEC, with paths relative to ``folder``. Raises InstallerError with exit code 2."""
    _refuse_unsafe(text)
    if _ADDRESS.match(text):
        return _parse_address(text)
    if " @ " not in text and _looks_like_path(text):
        return _parse_path(text, folder)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        why = str(error).split("\n")[0].rstrip(".")
        raise InstallerError(
            f"cannot install {mask_passwords(text)!r} ({mask_passwords(why)}). Give a name, "
            "name==1.2, the path of a wheel or folder (./x), or an address (git+https://…).",
            USAGE,
        ) from None
    return InstallSpec(
        text, canonicalize_name(requirement.name), extras=tuple(sorted(requirement.extras))
    )


def parse_editable(text: str, folder: Path) -> InstallSpec:
    """DIR of ``-e DIR``, with extras if need be. Raises InstallerError with exit code 2."""
    _refuse_unsafe(text)
    if _ADDRESS.match(text):
        raise InstallerError("-e takes a local folder, not an address. Clone it first.", USAGE)
    found = _parse_path(text, folder)
    if found.path is None or not found.path.is_dir():
        raise InstallerError(f"{text} is not a folder; -e takes the folder of a plugin.", USAGE)
    return replace(found, editable=True)


def _refuse_unsafe(text: str) -> None:
    if text.strip().startswith("-"):
        raise InstallerError(f"{text!r} would be an option of pip. Give a package.", USAGE)
    if not text.strip() or text != text.strip() or not text.isprintable():
        raise InstallerError(f"cannot install {text!r}.", USAGE)


def _looks_like_path(text: str) -> bool:
    bare = _split_extras(text)[0].lower()
    return "/" in bare or "\\" in bare or bare.startswith(".") or bare.endswith(ARCHIVES)


def _split_extras(text: str) -> tuple[str, str]:
    """A path and its ``[extras]``."""
    match = _EXTRAS.match(text)
    return (match["path"], match["extras"] or "") if match else (text, "")


def _parse_path(text: str, folder: Path) -> InstallSpec:
    bare, extras = _split_extras(text)
    path = (folder / Path(bare).expanduser()).resolve()
    if not path.exists():
        raise InstallerError(f"{path} does not exist.", USAGE)
    if path.is_dir() and not any((path / n).is_file() for n in ("pyproject.toml", "setup.py")):
        raise InstallerError(f"cannot install {path}: it has no pyproject.toml.", USAGE)
    if path.is_file() and not path.name.lower().endswith(ARCHIVES):
        raise InstallerError(f"cannot install {path}: it is neither a wheel nor an archive.", USAGE)
    listed = tuple(extra.strip() for extra in extras.strip("[]").split(",") if extra.strip())
    return InstallSpec(f"{path}{extras}", _project_name(path), path, extras=listed)


def _parse_address(text: str) -> InstallSpec:
    parts = urlsplit(text)
    if parts.scheme.lower() == "file":
        return _parse_path(url2pathname(parts.path), Path("/"))
    found = Path(parts.path)
    return InstallSpec(text, _name_from_file(found.name))


def _project_name(path: Path) -> str | None:
    if path.is_file():
        return _name_from_file(path.name)
    try:
        project = tomllib.loads((path / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):
        return None
    name = project.get("name") if isinstance(project, dict) else None
    return canonicalize_name(name) if isinstance(name, str) else None


def _name_from_file(file: str) -> str | None:
    """The name of the distribution in the name of a wheel or archive."""
    try:
        parsed = parse_wheel_filename(file) if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return parsed[0]


def _is_ssh_user(match: re.Match[str]) -> bool:
    """Whether a match is the user of an SSH address; a user of another scheme is often a token."""
    return match["rest"] is None and "ssh" in match["scheme"].lower()


def _without_password(match: re.Match[str]) -> str:
    user = f"{match['user']}@" if "ssh" in match["scheme"].lower() and match["user"] else ""
    return f"{match['scheme']}://{user}"
