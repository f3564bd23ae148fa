"""Creates a plugin of each kind with ``hookline plugins new`` and does what its author would.

A program, no test: ``PYTHONPATH=tests python -m meta.scaffold_check``. It needs ``uv`` on the path
and the package index; it takes about a minute. Exit code 1 names what did not work.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml

from meta.check_environment import CheckEnvironment, CheckFailed, expect
from meta.tree import ROOT, dists, needed, normal

NAME = "my-weather"
MODULE = "hookline_my_weather"
OTHERS = ("tool", "guard", "channel", "provider", "store")
"""The kinds beside ``plugin``; all are made and checked in one environment."""
BROUGHT = ("configure", "terminal")
"""What is installed beside core: the commands, and what the generated CI file installs."""
WRONG_HOOK = "def pre_tool(self, ctx: Context, call: str) -> Deny | None:"


def build(folder: Path) -> list[Path]:
    """The wheels of core and of what is brought, with what they depend on in the workspace."""
    brought = [dist for dist in dists() if dist.folder.name in BROUGHT]
    names = {"hookline", *(normal(one.name) for dist in brought for one in needed(dist))}
    builder = CheckEnvironment(folder / "build")
    for name in sorted(names):
        command = ("uv", "build", "--quiet", "--wheel", "--package", name)
        builder.run(*command, "--out-dir", folder / "dist", cwd=ROOT)
    wheels = sorted((folder / "dist").glob("*.whl"))
    expect(found=len(wheels), wanted=len(names), what="wheels")
    return wheels


def generated(
    environment: CheckEnvironment, name: str, installer: str, kind: str = "plugin"
) -> Path:
    """Create a plugin and follow the printed next steps exactly; return its repository.

    ``installer`` is the program that should have been recommended here.
    """
    told = environment.hookline("plugins", "new", name, "--kind", kind)
    repository = environment.folder / f"hookline-{name}"
    commands = [line.strip() for line in told.splitlines() if line.startswith("  ")]
    expect(found=len(commands), wanted=4, what=f"number of commands in {commands}")
    expect(found=installer in commands[1], wanted=True, what=f"{installer} in {commands[1]}")
    path = os.pathsep.join([str(environment.bin), os.environ["PATH"]])
    environment.run("sh", "-euc", "\n".join([f"export PATH={shlex.quote(path)}", *commands]))
    if kind in ("provider", "store"):
        key, wanted = ("model", f"{name}/MODEL") if kind == "provider" else ("store", name)
        config = yaml.safe_load((environment.home / "config.yaml").read_text("utf-8"))
        expect(found=config.get(key), wanted=wanted, what=f"{key} in config.yaml")
        environment.hookline("config", "check")
    else:
        expect(
            found=environment.states().get(name), wanted="on", what=f"plugin {name} after enable"
        )
    return repository


def ready(folder: Path) -> CheckEnvironment:
    """An environment with core and the command, which a config of its own switches on."""
    environment = CheckEnvironment(folder / "environment")
    environment.install_wheels(*build(folder))
    (environment.home / "config.yaml").write_text("plugins: {scaffold: true}\n", "utf-8")
    return environment


def check_code(environment: CheckEnvironment, repository: Path) -> None:
    """Lint, format and types are clean, warnings are no excuse; the CI file runs just these."""
    steps = [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"], ["pytest"]]
    environment.run(environment.bin / "ruff", "check", cwd=repository)
    environment.run(environment.bin / "ruff", "format", "--check", cwd=repository)
    # What it knows of Hookline serves every repository.
    environment.run(
        environment.bin / "mypy", "--cache-dir", environment.folder / "mypy", cwd=repository
    )
    told = environment.run(environment.bin / "pytest", "-W", "error", cwd=repository)
    expect(found=re.findall("skipped|xfailed|deselected", told), wanted=[], what=told)
    workflow = yaml.safe_load((repository / ".github/workflows/ci.yml").read_text("utf-8"))
    runs = [step["run"].split() for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    expect(found=runs[-len(steps) :], wanted=steps, what="the last steps of ci.yml")


def check_wrong_hook(environment: CheckEnvironment, repository: Path) -> None:
    """The generated type check sees a hook whose event has the wrong type."""
    source = repository / "src" / MODULE / "__init__.py"
    good = source.read_text("utf-8")
    line = next(one for one in good.splitlines() if "def pre_tool" in one)
    source.write_text(good.replace(line.strip(), WRONG_HOOK), "utf-8")
    try:
        environment.run(environment.bin / "mypy", cwd=repository)
    except CheckFailed as failure:
        expect(found="[override]" in str(failure), wanted=True, what=f"override in {failure}")
    else:
        raise CheckFailed("mypy passes a pre_tool hook whose call is a str")
    finally:
        source.write_text(good, "utf-8")


def check_wheel(environment: CheckEnvironment, repository: Path) -> None:
    """It can be published: a wheel with the package, its types, its licence and entry point."""
    environment.run(
        "uv", "build", "--quiet", "--wheel", "--out-dir", environment.folder / "out", cwd=repository
    )
    (wheel,) = (environment.folder / "out").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (table,) = (name for name in names if name.endswith("/entry_points.txt"))
        entry_points = archive.read(table).decode()
    missing = {f"{MODULE}/__init__.py", f"{MODULE}/py.typed"} - set(names)
    expect(found=missing, wanted=set(), what="files left out of the wheel")
    expect(found=any(n.endswith("/licenses/LICENSE") for n in names), wanted=True, what="licence")
    expect(found=f"{NAME} = {MODULE}:" in entry_points, wanted=True, what=entry_points)


class AnswersHello(BaseHTTPRequestHandler):
    """Speaks the wire of the generated provider."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()
        for event in ({"text": "Hello"}, {"tokens": {"sent": 1, "received": 1}}):
            self.wfile.write(json.dumps(event).encode() + b"\n")

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


def check_answer(environment: CheckEnvironment) -> None:
    """The generated provider asks the server that config names and returns its answer."""
    with ThreadingHTTPServer(("127.0.0.1", 0), AnswersHello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        environment.hookline("config", "set", "providers.my-provider.base_url", address)
        told = environment.hookline("run", "Hello")
        expect(found=told, wanted="Hello\n", what="what is answered")
        server.shutdown()


def main() -> int:
    """Generate, install, test, lint, type-check, switch on, build."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hookline-scaffold-") as name:
        folder = Path(name)
        try:
            environment = ready(folder)
            repository = generated(environment, NAME, "uv pip install")
            check_code(environment, repository)
            check_wrong_hook(environment, repository)
            check_wheel(environment, repository)
            for kind in OTHERS:
                check_code(
                    environment, generated(environment, f"my-{kind}", "uv pip install", kind)
                )
            check_answer(environment)
            environment.run(
                "uv", "pip", "install", "--quiet", "--python", environment.bin.parent, "pip"
            )
            generated(environment, "rain", "-m pip install")
        except CheckFailed as failure:
            print(f"scaffold: failed\n{failure}", file=sys.stderr)
            return 1
    print(f"scaffold: what is generated works, each kind; {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
