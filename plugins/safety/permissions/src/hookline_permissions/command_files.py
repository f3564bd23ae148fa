"""The files that a command names or runs, so that an approval is bound to them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from glob import escape, iglob
from itertools import islice, pairwise

from hookline_hookspecs import Paths, ToolCall

from .commands import SimpleCommand
from .content import MAKEFILES, is_interpreter
from .coverage import with_folders
from .places import HARMLESS_DEVICES, Places
from .rule_set import parsed_command, places_of
from .rules import COMMAND_TOOL

MAX_GLOB_MATCHES = 200
MAX_TOKENS = 2_000
"""Words of a command's text that are looked for, besides those that the parser finds."""
_TOKEN = re.compile(r"[^\s'\"`;|&<>(){}$=,@:!]+")
_GLOB = re.compile(r"[*?\[]")
_PACKAGES = ("package.json",)
_CONTAINERS = (
    *("Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"),
)
_PYTEST = ("conftest.py", "pytest.ini", "pyproject.toml")
_PYTHON_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
RUN_BY_DEFAULT = {
    **dict.fromkeys(("make", "gmake"), MAKEFILES),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx"), _PACKAGES),
    **dict.fromkeys(("docker", "podman", "docker-compose", "podman-compose"), _CONTAINERS),
    "just": ("justfile", "Justfile", ".justfile"),
    "rake": ("Rakefile",),
    "cargo": ("Cargo.toml", "build.rs"),
    "pytest": _PYTEST,
    "tox": ("tox.ini", "tox.toml", *_PYTHON_PROJECT, *_PYTEST),
    "nox": ("noxfile.py", *_PYTEST),
    **dict.fromkeys(("pip", "pip3", "pipx", "uv", "poetry", "pdm", "hatch"), _PYTHON_PROJECT),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py",)),
    "fab": ("fabfile.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "scons": ("SConstruct", "SConscript"),
    "meson": ("meson.build",),
    "cmake": ("CMakeLists.txt", "CMakePresets.json"),
    "ninja": ("build.ninja",),
    "task": ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"),
    **dict.fromkeys(("bazel", "bazelisk"), ("BUILD", "BUILD.bazel", "MODULE.bazel", "WORKSPACE")),
    **dict.fromkeys(("gradle", "gradlew"), ("build.gradle*", "settings.gradle*")),
    **dict.fromkeys(("mvn", "mvnw"), ("pom.xml",)),
    "ant": ("build.xml",),
    "sbt": ("build.sbt",),
    "dotnet": ("*.csproj", "*.fsproj", "*.sln", "Directory.Build.*"),
    "swift": ("Package.swift",),
    "go": ("go.mod", "*.go"),
    "mix": ("mix.exs",),
    "bundle": ("Gemfile",),
    "composer": ("composer.json",),
    "deno": ("deno.json", "deno.jsonc"),
    "vagrant": ("Vagrantfile",),
    **dict.fromkeys(("terraform", "tofu"), ("*.tf", "*.tfvars")),
    "nix-build": ("default.nix",),
    "nix-shell": ("shell.nix", "default.nix"),
    "nix": ("flake.nix",),
}
"""The files that programs run without being named."""


def command_files(call: ToolCall, paths: Paths) -> dict[str, bool]:
    """The absolute paths that a command names, each with whether it is only written.

    A word that may name a file is in the result even if there is no such file yet.
    """
    command = call.arguments.get("command")
    if call.name != COMMAND_TOOL or not isinstance(command, str):
        return {}
    found: dict[str, bool] = {}
    written: dict[str, bool] = {}
    folders: dict[str, Places] = {}
    for part, places in with_folders(parsed_command(command), places_of(call, paths)):
        folders.setdefault(places.folder or "", places)
        found.update((path, False) for path in _named(part, places))
        for redirect in part.redirects:
            if path := places.absolute(redirect.target.text):
                written[path] = redirect.writes and written.get(path, True)
    found = {**written, **found}
    for path in _existing(command, folders.values()):
        found.setdefault(path, False)
    return {path: writes for path, writes in found.items() if path not in HARMLESS_DEVICES}


def _named(part: SimpleCommand, places: Places) -> Iterator[str]:
    """The paths that the words of a command may be, and those that its program runs by itself."""
    words = [word.text for word in part.words]
    if words and "/" not in words[0]:
        words = words[1:]
    folders = [""]
    for word in words:
        path = places.absolute(word) if word and "\n" not in word else None
        if path is None:
            continue
        if _GLOB.search(word):
            yield from _matches(word, places)
        yield path
        if os.path.isdir(path):  # noqa: PTH112 - not a name of ours
            folders.append(f"{path}/")
    names = RUN_BY_DEFAULT.get(part.program, ())
    if is_interpreter(part.program):
        names = (*_modules(words), *(("__main__.py",) if len(folders) > 1 else ()))
    for folder in folders:
        for name in names:
            if "*" in name:
                yield from _matches(f"{escape(folder)}{name}", places)
            elif path := places.absolute(f"{folder}{name}"):
                yield path


def _matches(pattern: str, places: Places) -> Iterator[str]:
    """The files that a pattern stands for, as in the shell: brackets in the folder's name are not
    a part of it."""
    if places.folder is not None and not pattern.startswith(("/", "~")):
        pattern = f"{escape(places.folder)}/{pattern}"
    if path := places.absolute(pattern):
        yield from islice(iglob(path), MAX_GLOB_MATCHES)  # noqa: PTH207


def _modules(words: list[str]) -> Iterator[str]:
    """The files of ``python -m NAME``."""
    for option, name in pairwise(words):
        if option == "-m":
            path = name.replace(".", "/")
            yield from (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


def _existing(command: str, folders: Iterable[Places]) -> Iterator[str]:
    """The files that the text of a command names in any way, such as ``-F file=@a.txt``."""
    places = list(folders)
    for token in islice(_TOKEN.finditer(command), MAX_TOKENS):
        for place in places:
            path = place.absolute(token[0])
            if path is not None and os.path.isfile(path):  # noqa: PTH113
                yield path
