"""What a person asks to install: a name, a wheel, a folder or an address, judged and made exact.

Paths become absolute, since pip and uv are run in the home, where no project's settings are found.
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

from .errors import USAGE, Stop

_ADDRESS = re.compile(r"(?i)^[a-z][a-z0-9+.-]*:/")
_EXTRAS = re.compile(r"^(?P<path>.+?)(?P<extras>\[[^\[\]]*\])?$", re.DOTALL)
_USER = re.compile(r"(?i)(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^/@\s:]*)(?P<rest>:[^/@\s]*)?@")
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tar")
"""Ends of the file names that pip takes as archives."""


@dataclass(frozen=True)
class Spec:
    """One thing to install.

    ``text`` is what pip or uv gets; ``name`` is the dist, in its canonical form, where it is known
    without building; ``path`` is the wheel, archive or folder, if it is one; ``also`` is what must
    come along from where no index has it.
    """

    text: str
    name: str | None = None
    path: Path | None = None
    editable: bool = False
    extras: tuple[str, ...] = ()
    also: tuple[Spec, ...] = ()

    @property
    def shown(self) -> str:
        """The text for a screen."""
        return masked(self.text)

    @property
    def arguments(self) -> list[str]:
        """The text as pip and uv take it after their options."""
        return ["--editable", self.text] if self.editable else [self.text]

    @property
    def recorded(self) -> str:
        """The text for ``plugins.lock``: without a password, which git or netrc can give again."""
        return _USER.sub(_without_secret, self.text)

    def pinned(self, version: str) -> Spec:
        """The same at exactly ``version``; itself where it is no plain name."""
        if self.name is None or self.path is not None:
            return self
        wanted = Requirement(self.text)
        if wanted.url is not None:
            return self
        wanted.specifier = SpecifierSet(f"=={version}")
        return replace(self, text=str(wanted))


def masked(text: str) -> str:
    """A text without the passwords and tokens in its addresses."""
    return _USER.sub(lambda m: m[0] if _is_only_a_name(m) else f"{m['scheme']}://***@", text)


def parse(text: str, folder: Path) -> Spec:
    """SPEC as a person wrote it in ``folder``. Raises Stop with exit code 2."""
    _refuse_hostile(text)
    if _ADDRESS.match(text):
        return _address(text)
    if " @ " not in text and _looks_like_path(text):
        return _path(text, folder)
    try:
        wanted = Requirement(text)
    except InvalidRequirement as error:
        why = str(error).split("\n")[0].rstrip(".")
        raise Stop(
            f"{masked(text)!r} is nothing that can be installed ({masked(why)}); write a name, "
            "name==1.2, the path of a wheel or a folder (./x), or an address (git+https://…).",
            USAGE,
        ) from None
    return Spec(text, canonicalize_name(wanted.name), extras=tuple(sorted(wanted.extras)))


def parse_editable(text: str, folder: Path) -> Spec:
    """DIR of ``-e DIR``, with extras if need be. Raises Stop with exit code 2."""
    _refuse_hostile(text)
    if _ADDRESS.match(text):
        raise Stop("-e takes a folder on this machine, not an address; clone it first.", USAGE)
    found = _path(text, folder)
    if found.path is None or not found.path.is_dir():
        raise Stop(f"{text} is no folder; -e takes the folder of a plugin.", USAGE)
    return replace(found, editable=True)


def _refuse_hostile(text: str) -> None:
    if text.strip().startswith("-"):
        raise Stop(f"{text!r} would be an option of pip; only what to install is taken.", USAGE)
    if not text.strip() or text != text.strip() or not text.isprintable():
        raise Stop(f"{text!r} is nothing that can be installed.", USAGE)


def _looks_like_path(text: str) -> bool:
    bare = _split(text)[0].lower()
    return "/" in bare or "\\" in bare or bare.startswith(".") or bare.endswith(ARCHIVES)


def _split(text: str) -> tuple[str, str]:
    """A path and its ``[extras]``."""
    match = _EXTRAS.match(text)
    return (match["path"], match["extras"] or "") if match else (text, "")


def _path(text: str, folder: Path) -> Spec:
    bare, extras = _split(text)
    path = (folder / Path(bare).expanduser()).resolve()
    if not path.exists():
        raise Stop(f"there is no {path}.", USAGE)
    if path.is_dir() and not any((path / n).is_file() for n in ("pyproject.toml", "setup.py")):
        raise Stop(f"{path} has no pyproject.toml, so it is nothing that can be installed.", USAGE)
    if path.is_file() and not path.name.lower().endswith(ARCHIVES):
        raise Stop(f"{path} is neither a wheel nor an archive.", USAGE)
    listed = tuple(extra.strip() for extra in extras.strip("[]").split(",") if extra.strip())
    return Spec(f"{path}{extras}", _name_of(path), path, extras=listed)


def _address(text: str) -> Spec:
    parts = urlsplit(text)
    if parts.scheme.lower() == "file":
        return _path(url2pathname(parts.path), Path("/"))
    found = Path(parts.path)
    return Spec(text, _name_in(found.name))


def _name_of(path: Path) -> str | None:
    if path.is_file():
        return _name_in(path.name)
    try:
        project = tomllib.loads((path / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):
        return None
    name = project.get("name") if isinstance(project, dict) else None
    return canonicalize_name(name) if isinstance(name, str) else None


def _name_in(file: str) -> str | None:
    """The dist that a file is named for."""
    try:
        parsed = parse_wheel_filename(file) if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None
    return parsed[0]


def _is_only_a_name(match: re.Match[str]) -> bool:
    """``git@`` of an ssh address; a lone user of another scheme is most often a token."""
    return match["rest"] is None and "ssh" in match["scheme"].lower()


def _without_secret(match: re.Match[str]) -> str:
    user = f"{match['user']}@" if "ssh" in match["scheme"].lower() and match["user"] else ""
    return f"{match['scheme']}://{user}"
