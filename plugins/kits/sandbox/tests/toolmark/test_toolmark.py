"""The tool mark, on real processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hookline_toolmark import LIMIT, MARK, is_marked, mark_command

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="no such limit elsewhere")
ASK = "from hookline_toolmark import is_marked; print(is_marked())"


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != MARK}


def output_of(argv: list[str], environment: dict[str, str] | None = None) -> str:
    environment = clean() if environment is None else environment
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


def test_process_of_a_person_is_not_marked() -> None:
    if is_marked(clean()):
        pytest.skip("these tests are run by a tool themselves")
    assert output_of([sys.executable, "-c", ASK]) == "False"


def test_mark_in_environment_is_read() -> None:
    assert is_marked({MARK: "one"})
    assert output_of([sys.executable, "-c", ASK], {**clean(), MARK: ""}) == "True"


@linux_only
def test_marked_process_is_detected_without_the_variable() -> None:
    assert output_of(mark_command([sys.executable, "-c", ASK])) == "True"


@pytest.mark.long
@linux_only
@pytest.mark.parametrize(
    "shed",
    [
        "exec {ask}",
        "env -i PATH=$PATH {ask}",
        "ulimit -q 819200; {ask}",
        "ulimit -q unlimited; {ask}",
        "ulimit -q 4096; {ask}",
        "ulimit -q 0; {ask}",
        "(setsid {ask})",
        "setsid nohup {ask} </dev/null 2>/dev/null & wait",
    ],
)
def test_child_process_cannot_remove_the_mark(shed: str) -> None:
    ask = f"{sys.executable} -c '{ASK}'"
    if ("819200" in shed or "unlimited" in shed) and _may_raise():
        pytest.skip("this account may raise limits (CAP_SYS_RESOURCE)")
    line = ["/bin/bash", "-c", shed.format(ask=ask) + " 2>/dev/null"]
    assert output_of(mark_command(line)) == "True"


def _may_raise() -> bool:
    status = Path("/proc/self/status").read_text("utf-8")
    effective = next(line for line in status.splitlines() if line.startswith("CapEff"))
    return bool(int(effective.split()[1], 16) & 1 << 24)


@linux_only
@pytest.mark.parametrize("program", ["bash", "prlimit", None])
def test_every_way_of_marking_works(
    program: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program is not None:
        where = shutil.which(program)
        if where is None:
            pytest.skip(f"no {program} here")
        (tmp_path / program).symlink_to(where)
    monkeypatch.setenv("PATH", str(tmp_path))
    script = (
        "import resource, sys; print(resource.getrlimit(resource.RLIMIT_MSGQUEUE), sys.argv[1:])"
    )
    argv = mark_command([sys.executable, "-c", script, "two words", "$x"])
    assert output_of(argv) == f"({LIMIT}, {LIMIT}) ['two words', '$x']"


@linux_only
def test_mark_is_added_once() -> None:
    nested = "from hookline_toolmark import mark_command; print(mark_command(['ls']))"
    assert output_of(mark_command([sys.executable, "-c", nested])) == "['ls']"
