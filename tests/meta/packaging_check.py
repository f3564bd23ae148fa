"""Builds every dist and checks that each works with nothing else installed.

A program, no test: ``PYTHONPATH=tests python -m meta.packaging_check``. It needs ``uv`` on the
path and the package index; it takes some minutes. Exit code 1 names what did not work.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from meta import offline
from meta.check_environment import CheckEnvironment, CheckFailed, expect
from meta.tree import ROOT, Dist, dists, needed, normal, root_pyproject, tracked_files

WORKERS = 2
REFUSES = {"cluster": "it needs a shared store"}
"""What a plugin says for which SQLite, the store here, is none."""
IMPORT = "import importlib, sys; importlib.import_module(sys.argv[1])"
LOAD = (
    "import sys; from importlib.metadata import distribution; "
    "[p.load() for p in distribution(sys.argv[1]).entry_points if p.group[:9] == 'hookline.']"
)


def build(folder: Path) -> dict[str, Path]:
    """Build everything; dist name to wheel."""
    CheckEnvironment(folder / "build").run(
        *("uv", "build", "--quiet", "--all-packages", "--out-dir", folder), cwd=ROOT
    )
    wheels = {normal(wheel.name.partition("-")[0]): wheel for wheel in folder.glob("*.whl")}
    expect(
        found=sorted(wheels), wanted=sorted(["hookline", *(d.name for d in dists())]), what="wheels"
    )
    return wheels


def check_core(environment: CheckEnvironment, wheels: dict[str, Path]) -> None:
    """The core wheel alone starts, says its version and has none of the plugins' commands."""
    environment.install_wheels(wheels["hookline"])
    environment.python("-c", LOAD, "hookline")
    version = wheels["hookline"].name.split("-")[1]
    expect(
        found=version in environment.hookline("--version"), wanted=True, what=f"version {version}"
    )
    expect(
        found="--version" in environment.hookline("--help"), wanted=True, what="help of core alone"
    )
    told = environment.refused("plugins", "list")
    expect(found="No such command" in told, wanted=True, what=f"core alone: {told}")
    expect(
        found=set(environment.states().values()) & {"on"},
        wanted=set(),
        what="plugins of core alone",
    )


def check_dist(folder: Path, free: SimpleQueue[Path], wheels: dict[str, Path], dist: Dist) -> None:
    """A wheel with core and what it depends on: it imports, loads, and can be switched on.

    ``free`` are environments that checks use in turn: what the next one also needs stays, compiled.
    """
    shared = free.get()
    try:
        check_installed(CheckEnvironment(folder / dist.name, shared), wheels, dist)
    finally:
        free.put(shared)


def check_installed(environment: CheckEnvironment, wheels: dict[str, Path], dist: Dist) -> None:
    """``check_dist`` in one environment."""
    together = needed(dist)
    environment.install_wheels(wheels["hookline"], *(wheels[normal(one.name)] for one in together))
    environment.python("-c", IMPORT, dist.module)
    environment.python("-c", LOAD, dist.name)
    names = [name for one in together if one.is_plugin for name in one.entry_points]
    if dist.is_plugin:
        switched_on(environment, names)


def switched_on(environment: CheckEnvironment, names: list[str]) -> None:
    """Name plugins in a config and see them on."""
    chosen = json.dumps({"plugins": dict.fromkeys(names, True)})
    (environment.home / "config.yaml").write_text(chosen, "utf-8")
    states = environment.states()
    found = {name: states.get(name, "missing") for name in names}
    for name, told in REFUSES.items():
        if told in found.get(name, ""):
            found[name] = "on"
    expect(found=found, wanted=dict.fromkeys(names, "on"), what="plugins switched on")


def check_pip(environment: CheckEnvironment) -> None:
    """``pip install .`` and the standard set in place, from a copy of the clone, without uv."""
    clone = environment.folder / "clone"
    for file in tracked_files():
        target = clone / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)
    venv.create(environment.bin.parent, with_pip=True)
    pip = (environment.bin / "python", "-m", "pip", "install", "--quiet")
    environment.run(*pip, ".", cwd=clone)
    environment.hookline("--version")
    extra = root_pyproject()["project"]["optional-dependencies"]["standard"]
    named = [dist for dist in dists() if dist.name in extra]
    standard = list({one.name: one for dist in named for one in needed(dist)}.values())
    folders = [f"./{dist.folder.relative_to(ROOT)}" for dist in standard]
    environment.run(
        *pip, *(word for folder in (".", *folders) for word in ("-e", folder)), cwd=clone
    )
    switched_on(
        environment, [name for dist in standard if dist.is_plugin for name in dist.entry_points]
    )


def checks(folder: Path, wheels: dict[str, Path]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Every check with its name; the slowest first."""
    yield "pip", partial(check_pip, CheckEnvironment(folder / "pip"))
    yield "archive", partial(offline.check, folder, next(iter(wheels.values())).parent)
    yield "core", partial(check_core, CheckEnvironment(folder / "core"), wheels)
    free: SimpleQueue[Path] = SimpleQueue()
    for number in range(WORKERS):
        free.put(folder / f"shared-{number}")
    for dist in dists():
        yield dist.name, partial(check_dist, folder, free, wheels, dist)


def main() -> int:
    """Run every check; print each that failed."""
    begun = time.monotonic()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="hookline-packaging-") as name:
        folder = Path(name)
        try:
            wheels = build(folder / "dist")
        except CheckFailed as failure:
            print(f"packaging: build failed\n{failure}", file=sys.stderr)
            return 1
        with ThreadPoolExecutor(WORKERS) as pool:
            running = [(what, pool.submit(check)) for what, check in checks(folder, wheels)]
        for what, future in running:
            error = future.exception()
            if error is not None:
                failed += 1
                print(f"packaging: {what} failed\n{error}\n", file=sys.stderr)
    took = time.monotonic() - begun
    print(f"packaging: {len(running) - failed} of {len(running)} checks passed in {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
