"""The systemd unit, the image and the Compose file in ``packaging/``, checked by reading."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hookline_gateway import GatewayConfig
from hookline_gateway.shutdown import CLOSE_TIMEOUT

ROOT = Path(__file__).parents[4]
if not (ROOT / "core").is_dir():
    pytest.skip("the plugin stands alone, without the repository", allow_module_level=True)
PACKAGING = ROOT / "packaging"
LONGEST = GatewayConfig().drain + CLOSE_TIMEOUT
"""Seconds from the first signal to the end of the process."""
SECRET = re.compile(r"(?i)(key|token|secret|password)\w*\s*[=:]\s*[\"']?(?!\$\{)[\w-]{8,}")


def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=False, interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(PACKAGING / "hookline.service")
    return found


def test_systemd_unit_sets_restart_user_and_stop_timeout() -> None:
    service = unit()["Service"]
    assert service["Type"] == "notify"
    assert service["Restart"] == "on-failure"
    assert service["ExecStart"].split()[-1] == "gateway"
    assert service["User"] not in ("", "root", "0")
    assert float(service["TimeoutStopSec"]) > 30 >= LONGEST
    assert float(service["WatchdogSec"]) > 2 * 15
    assert unit()["Install"]["WantedBy"] == "multi-user.target"


def test_systemd_unit_is_hardened() -> None:
    service = unit()["Service"]
    switches = (
        *("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectHome", "ProtectClock"),
        *("ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "LockPersonality"),
        *("ProtectControlGroups", "RestrictNamespaces", "RestrictSUIDSGID", "RestrictRealtime"),
    )
    assert {service[name] for name in switches} == {"yes"}
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (PACKAGING / "hookline.service").read_text("utf-8")
    copy = tmp_path / "hookline.service"
    # The program and the user are not there on a machine that only tests.
    text = text.replace("/opt/hookline/bin/hookline", sys.executable)
    copy.write_text(re.sub(r"^(User|Group)=.*\n", "", text, flags=re.M), "utf-8")
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    about = [line for line in done.stderr.splitlines() if str(copy.name) in line]
    assert (done.returncode, about) == (0, [])


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile with their words, continued lines joined."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    found = [line.strip().partition(" ") for line in joined.split("\n") if line.strip()]
    return [(word.upper(), " ".join(rest.split())) for word, _, rest in found]


def image_faults(text: str) -> list[str]:
    """What is wrong with a Containerfile, by the rules of this project."""
    every = instructions(text)
    starts = [number for number, (word, _) in enumerate(every) if word == "FROM"]
    last = every[starts[-1] :] if starts else []
    words = [word for word, _ in last]
    faults = ["has one stage"] if len(starts) < 2 else []
    users = [rest for word, rest in last if word == "USER"]
    if not users or users[-1].split(":")[0] in ("root", "0"):
        faults.append("runs as root")
    elif "ENTRYPOINT" not in words or words.index("USER") > words.index("ENTRYPOINT"):
        faults.append("USER comes after ENTRYPOINT")
    if not any(word == "HEALTHCHECK" and "hookline" in rest for word, rest in last):
        faults.append("has no health check")
    if "VOLUME" not in words:
        faults.append("has no volume for the home")
    for word, rest in every:
        if word == "ADD":
            faults.append("uses ADD")
        if word == "FROM" and (":" not in rest or ":latest" in rest):
            faults.append(f"takes any version of {rest}")
        if word == "COPY" and (rest.split()[0] in (".", "./") or ".env" in rest):
            faults.append("copies more than it names")
        if word in ("ENV", "ARG", "RUN") and SECRET.search(rest):
            faults.append(f"holds a secret in {word}")
    return faults


GOOD = (PACKAGING / "Containerfile").read_text("utf-8")


def test_containerfile_keeps_the_rules() -> None:
    assert image_faults(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("USER 10001:10001\n", "", "runs as root"),
        ("USER 10001:10001", "USER root", "runs as root"),
        ("COPY core core", "ADD core core", "uses ADD"),
        ("COPY core core", "COPY . .", "copies more than it names"),
        ("COPY core core", "COPY .env /data/.env", "copies more than it names"),
        ("VOLUME /data\n", "", "has no volume for the home"),
        ("python:3.11-slim AS", "python AS", "takes any version of"),
        ("STOPSIGNAL", "ENV OPENAI_API_KEY=abcdefgh12\nSTOPSIGNAL", "holds a secret in ENV"),
        ("HEALTHCHECK", "LABEL", "has no health check"),
    ],
)
def test_containerfile_rules_find_faults(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    assert any(fault in one for one in image_faults(GOOD.replace(old, new, 1)))


def test_containerignore_allows_only_copied_files() -> None:
    ignored = (PACKAGING / ".containerignore").read_text("utf-8")
    assert ignored == (PACKAGING / "Containerfile.dockerignore").read_text("utf-8")
    rules = [line for line in ignored.splitlines() if line and not line.startswith("#")]
    assert rules[0] == "*"
    let_in = {rule[1:] for rule in rules if rule.startswith("!")}
    copied: set[str] = set()
    for word, rest in instructions(GOOD):
        if word == "COPY" and not rest.startswith("--from"):
            copied.update(rest.split()[:-1])
    assert copied == let_in
    assert all((PACKAGING.parent / name).exists() for name in copied)
    assert {"**/.env", "**/.venv", "**/*.db"} <= set(rules)


def test_wheels_of_the_repository_are_installed_from_it(tmp_path: Path) -> None:
    for name in ("hookline-0.1.0-py3-none-any.whl", "hookline_prompt_cache-0.1.0-py3-none-any.whl"):
        (tmp_path / name).touch()
    command = [sys.executable, str(PACKAGING / "pins.py"), str(tmp_path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split(" @ ")[0] for line in lines] == ["hookline", "hookline-prompt-cache"]
    assert all(f" @ {tmp_path.as_uri()}/" in line for line in lines)


def test_compose_example_is_valid() -> None:
    text = (PACKAGING / "compose.yaml").read_text("utf-8")
    assert not SECRET.search(text)
    found = dict(re.findall(r"^ +(?:- )?(\w+): ([^#\n]+?) *(?:#.*)?$", text, re.M))
    assert (PACKAGING / found["context"] / found["dockerfile"]).exists()
    assert float(found["stop_grace_period"].rstrip("s")) > LONGEST
    assert found["read_only"] == "true"
    assert "      - hookline:/data " in text
    assert re.search(r"cap_drop:\s+- ALL\n", text)
    assert "no-new-privileges:true" in text
