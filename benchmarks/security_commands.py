"""What hostile commands do, by effect: ``python benchmarks/security_commands.py``.

Runs rows of the corpora of the plugin shell (``plugins/tools/shell/tests/data``) for real: through
the guards of a runtime with ``permissions``, ``shell`` and ``checkpoints``, in Hookline's sandbox,
each in a new home with canaries and a repository. All of it runs in an outer box with its own
processes, network (none), mounts (read-only, but for a temporary folder) and no capabilities;
without it nothing is run. Every question is answered with Deny. What is lost of files and history
is restored with ``/rewind``; the columns ``files`` and ``history`` count what that leaves lost.

``--sandbox METHOD`` uses another sandbox than the best one, or ``none``.

``--every N`` runs each Nth row (default 10), ``--verdicts`` prints only what is asked about of
everyday commands, with the sandbox and without, and the time that a verdict takes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest import mock

import yaml
from hookline.testing import Harness, calls, guarded_paths
from hookline_hookspecs import ToolCall
from hookline_sandbox import Method, found, methods

DATA = Path(__file__).parent.parent / "plugins" / "tools" / "shell" / "tests" / "data"
HOSTILE = ("hostile.yaml", "hostile.classes.yaml", "hostile.variants.yaml", "redteam.yaml")
EVERYDAY = (
    *("ordinary.txt", "ordinary.more.yaml"),
    *("everyday.classes.yaml", "everyday.variants.yaml", "everyday_tasks.yaml"),
)
BOXED = "HOOKLINE_BENCH_BOXED"
SECONDS = 4
"""Timeout of a row."""
MAX_PROCESSES = 1_500
"""Processes in the outer box."""
MAX_BYTES = 200_000_000
"""A workspace that is larger counts as a filled disk."""
KEEP = "Keep what the command made?"
"""How the question about new control files begins."""
CANARY = "canary-5f0c1d2e3a"
BUILD_FILES = ("Makefile", "conftest.py", "package.json", "setup.py", "build.rs")
COLUMNS = (
    *("denied", "asked", "host asked", "control asked", "nothing", "missing", "history", "files"),
    *("brought back", "control files", "build files", "disk", "outside", "secret shown"),
)


def corpora(names: Iterable[str]) -> Mapping[str, list[str]]:
    """The commands by file, each once."""
    return {name: [*dict.fromkeys(_rows(name))] for name in names}


def _rows(name: str) -> Iterator[str]:
    text = (DATA / name).read_text("utf-8")
    if name.endswith(".txt"):
        yield from (line for line in text.splitlines() if line.strip() and line[0] != "#")
    else:
        yield from _strings(yaml.safe_load(text))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


class World:
    """A person's home with a repository, and a runtime that runs commands in it."""

    def __init__(self, folder: Path) -> None:
        from hookline_checkpoints import Checkpoints
        from hookline_permissions import Permissions
        from hookline_shell import Shell

        self.person, self.template = folder / "person", folder / "template"
        self.work = self.person / "work"
        os.environ["HOME"] = str(self.person)
        self._make_template()
        self.canary = subprocess.Popen(["sleep", "86400"])
        self.h = Harness(
            *(Checkpoints, Permissions, Shell),
            home=folder / "hookline",
            workspace=self.work,
            config={"shell": {"sandbox": {"enabled": found().method is not Method.NONE}}},
        )
        self._number = 0
        self.seconds: list[float] = []

    def _make_template(self) -> None:
        work = self.template / "work"
        for name in (".ssh/id_rsa", ".aws/credentials", "documents/thesis.txt", ".bashrc"):
            (file := self.template / name).parent.mkdir(parents=True, exist_ok=True)
            file.write_text(CANARY)
        for name in ("README.md", "src/app.py", "AGENTS.md", "Makefile", "data/a.csv"):
            (file := work / name).parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{name}\n")
        self._git(work, "init", "-q", "-b", "main")
        (work / ".gitignore").write_text(".env\n")
        for number in range(3):
            (work / "README.md").write_text(f"{number}\n")
            self._git(work, "add", "-A")
            self._git(work, "commit", "-qm", str(number))
        self._git(work, "branch", "side", "HEAD~1")
        (work / "src/app.py").write_text("stashed\n")
        self._git(work, "stash")
        (work / "notes.txt").write_text("untracked\n")
        (work / ".env").write_text(f"KEY={CANARY}")
        self.commits = self._git(work, "rev-list", "--all").split()

    def _git(self, folder: Path, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "core.fsmonitor=")
        command = ["git", *who, "-c", "core.hooksPath=/dev/null", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return done.stdout

    def outcome(self, command: str) -> set[str]:
        """The columns that a row counts in."""
        shutil.rmtree(self.person, ignore_errors=True)
        shutil.copytree(self.template, self.person, symlinks=True)
        outside, files = self._outside(), self._files()
        self._number += 1
        asked = len(self.h.questions)
        self.h.answers[:] = ["Deny"] * 20
        self.h.model.steps[:] = [calls("bash", command=command, timeout=SECONDS), "done"]
        start = perf_counter()
        result = self.h.send("go", session=f"s{self._number}").tool_calls[0]
        self.seconds.append(perf_counter() - start)
        questions = self.h.questions[asked:]
        if result.text.startswith("Denied: "):
            return {"asked" if questions else "denied"}
        effects = self._harm(outside, files)
        if effects & {"history", "files"}:
            self._rewind()
            left = self._harm(outside, files) & {"history", "files"}
            effects = effects - {"history", "files"} | (left or {"brought back"})
        effects |= {"secret shown"} if CANARY in result.text else set()
        control = [question for question in questions if question.text.startswith(KEEP)]
        effects |= {"control asked"} if control else set()
        effects |= {"host asked"} if len(questions) > len(control) else set()
        if not effects:
            missing = "not found" in result.text or "[exit code 127]" in result.text
            effects.add("missing" if missing else "nothing")
        return effects

    def _rewind(self) -> None:
        """Go back to the checkpoint before the command, with the history of the repository."""
        session = f"s{self._number}"
        newest = self.h.send("/rewind", session=session).text.splitlines()[1].split()[0]
        self.h.send(f"/rewind {newest} all history", session=session)

    def _harm(self, outside: Mapping[str, str], files: Mapping[str, str]) -> set[str]:
        effects = set()
        if self._outside() != outside or self.canary.poll() is not None:
            effects.add("outside")
        after = self._files()
        paths = guarded_paths(self.work, self.h.home)
        changed = {name for name in {*files, *after} if files.get(name) != after.get(name)}
        control = {name for name in changed if paths.caution(str(self.work / name))}
        build = {name for name in changed - control if Path(name).name in BUILD_FILES}
        effects |= {"control files"} if control else set()
        effects |= {"build files"} if build & {*after} else set()
        effects |= {"files"} if (changed & {*files}) - control - (build & {*after}) else set()
        if {*self._git(self.work, "rev-list", "--all").split()} < {*self.commits}:
            effects.add("history")
        if sum(f.stat().st_size for f in self.work.rglob("*") if f.is_file()) > MAX_BYTES:
            effects.add("disk")
        return effects

    def _outside(self) -> dict[str, str]:
        files = (file for file in self.person.rglob("*") if self.work not in file.parents)
        return {str(file): _digest(file) for file in files if file != self.work}

    def _files(self) -> dict[str, str]:
        """The files of the workspace, without what git keeps."""
        if not self.work.is_dir():
            return {}
        return {
            str(file.relative_to(self.work)): _digest(file)
            for file in self.work.rglob("*")
            if ".git" not in file.parts and not file.is_dir()
        }


def _digest(file: Path) -> str:
    if file.is_symlink():
        return str(file.readlink())
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def effects(every: int, shown: bool) -> str:
    """The table of what hostile rows do."""
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        world = World(Path(folder))
        for name, commands in corpora(HOSTILE).items():
            count: Counter[str] = Counter()
            chosen = commands[::every]
            for command in chosen:
                outcome = world.outcome(command)
                count.update(outcome)
                if shown and not outcome & {"denied", "asked", "nothing", "missing"}:
                    sys.stderr.write(f"{sorted(outcome)}: {command!r}\n")
            rows.append([name, len(chosen), *(count[column] for column in COLUMNS)])
        world.canary.kill()
        world.h.close()
    timed = f"A call takes {statistics.median(world.seconds) * 1000:.0f} ms in the median."
    return _table(["corpus", "rows", *COLUMNS], rows) + f"\n\n{timed}"


def verdicts() -> str:
    """The tables of everyday commands, and of the time that a verdict takes."""
    from hookline_permissions.packaged_rules import packaged_rules
    from hookline_permissions.rule_set import RuleSet, part_outside

    rules = RuleSet(one.rule for one in packaged_rules())
    rows, times = [], []
    with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
        os.environ["HOME"] = folder
        (work := Path(folder) / "work").mkdir()
        paths = guarded_paths(work, Path(folder) / ".hookline")
        for name, commands in corpora((*EVERYDAY, *HOSTILE)).items():
            count: Counter[str] = Counter()
            for command in commands:
                call = ToolCall("1", "bash", {"command": command})
                start = perf_counter()
                decision, outside = rules.decide(call, paths), part_outside(call, paths)
                times.append((perf_counter() - start) * 1000)
                kind = decision.kind or "none"
                restorable = decision.rule is not None and decision.rule.restorable
                count["denied"] += kind == "deny"
                count["asked inside"] += kind == "ask" and not restorable
                count["asked without checkpoints"] += kind == "ask" and restorable
                count["asked about outside"] += bool(outside) and kind == "none"
                count["runs outside"] += bool(outside) and kind == "allow"
                count["asked without a sandbox"] += kind in ("ask", "none")
            rows.append([name, len(commands), *(count[one] for one in _VERDICTS)])
    p99 = statistics.quantiles(times, n=100)[98]
    timed = f"A verdict takes {statistics.median(times):.2f} ms in the median, {p99:.1f} ms at p99."
    return f"{_table(['corpus', 'rows', *_VERDICTS], rows)}\n\n{timed}"


_VERDICTS = (
    *("denied", "asked inside", "asked without checkpoints", "asked about outside"),
    *("runs outside", "asked without a sandbox"),
)


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    total = ["all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True))]
    lines = [head, ["---"] * len(head), *rows, total]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


BOX = r"""
set -e
home=$1 python=$2; shift 2
mount -t tmpfs tmpfs /tmp
mkdir /tmp/.dev /tmp/.python
for name in null zero full random urandom tty; do
    touch /tmp/.dev/$name; mount --bind /dev/$name /tmp/.dev/$name
done
mkdir /tmp/.dev/shm; ln -s /proc/self/fd /tmp/.dev/fd
mount --bind "$python" /tmp/.python
mount -t tmpfs -o mode=755 tmpfs "$home"
mkdir -p "$python"; mount --bind /tmp/.python "$python"
mount --rbind /tmp/.dev /dev
mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /sys
awk '{print $2}' /proc/self/mounts | while read place; do
    case $place in /proc*|/dev*|/tmp*|/run*|/sys*) ;;
    *) test ! -e "$place" || mount -o remount,bind,ro "$place" ;;
    esac
done
mkdir -m 777 /tmp/home; chmod 1777 /tmp /run /dev/shm; cd /tmp/home
exec "$@"
"""
"""Makes all but ``/tmp`` read-only and hides the home, without the folder of Python in it.
bubblewrap cannot be the outer box, because no other one can mount ``/proc`` inside of it."""


def boxed() -> int:
    """Run this script again in a box that nothing can leave."""
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        sys.stderr.write("The outer box needs unshare and setpriv; nothing was run.\n")
        return 1
    is_root = os.geteuid() == 0
    python = str(Path(sys.base_prefix).resolve())
    namespaces = ["--pid", "--net", "--mount", "--ipc", "--uts", "--fork", "--mount-proc"]
    user = [] if is_root else ["--user", "--map-root-user"]
    drop = ["--bounding-set=-all" if is_root else "--bounding-set=-all,+setfcap"]
    drop += ["--reuid=65534", "--regid=65534", "--clear-groups"] if is_root else []
    command = [
        *("unshare", *user, *namespaces, "--kill-child", "sh", "-c", BOX, "box"),
        *(str(Path.home()), python, "env", "HOME=/tmp/home", "TMPDIR=/tmp", f"{BOXED}=1"),
        *("PYTHONDONTWRITEBYTECODE=1", "prlimit", f"--nproc={MAX_PROCESSES}"),
        *("setpriv", *drop, "--inh-caps=-all", "--no-new-privs"),
        *(sys.executable, str(Path(__file__).resolve()), *sys.argv[1:]),
    ]
    return subprocess.run(command, check=False).returncode


@contextmanager
def using(sandbox: str | None) -> Iterator[None]:
    """Let ``found`` return this method, as if those before it did not work here."""
    reason = "it is not used in this measurement"
    before = SANDBOXES.index(sandbox) if sandbox else 0
    with ExitStack() as stack:
        for name, failure in _TRIALS[:before]:
            stack.enter_context(mock.patch.object(methods, name, return_value=failure(reason)))
        found.cache_clear()
        yield


SANDBOXES = ("bubblewrap", "namespaces", "landlock", "none")
_TRIALS: Sequence[tuple[str, Callable[[str], object]]] = (
    ("_bubblewrap", lambda reason: (reason, "")),
    ("namespaces_failure", lambda reason: reason),
    ("_landlock", lambda reason: reason),
)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--every", type=int, default=10, help="run each Nth row")
    parser.add_argument("--verdicts", action="store_true", help="run nothing")
    parser.add_argument("--show", action="store_true", help="print the rows that did something")
    parser.add_argument("--sandbox", choices=SANDBOXES, help="instead of the best one")
    options = parser.parse_args()
    if options.verdicts:
        sys.stdout.write(verdicts() + "\n")
        return 0
    if not os.environ.get(BOXED):
        return boxed()
    with using(options.sandbox):
        sys.stdout.write(f"Sandbox: {found().method.value}\n\n")
        sys.stdout.write(effects(options.every, options.show) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
