"""The cluster files in ``packaging/``: manifests, units and an example, by their own tools."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from hookline_cluster.commands.worker import CLOSE_TIMEOUT
from hookline_cluster.config import ClusterConfig

from .tree import ROOT

KUBERNETES, CLUSTER = ROOT / "packaging" / "kubernetes", ROOT / "packaging" / "cluster"
LONGEST = ClusterConfig().drain + CLOSE_TIMEOUT
"""Seconds from the first signal to the end of a worker."""
SECRET = re.compile(r"(?i)(key|token|secret|password)\w*\s*[=:]\s*[\"']?(?!\$\{)[\w-]{12,}")
VERSION = "1.37"


def manifests() -> Iterator[dict[str, Any]]:
    """Every object of ``kustomization.yaml``."""
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text("utf-8"))
    for name in listed["resources"]:
        yield from yaml.safe_load_all((KUBERNETES / name).read_text("utf-8"))


def of_kind(*kinds: str) -> list[dict[str, Any]]:
    """The objects of these kinds."""
    return [one for one in manifests() if one["kind"] in kinds]


def pod(workload: dict[str, Any]) -> dict[str, Any]:
    """The pod that a Deployment or Job makes."""
    made: dict[str, Any] = workload["spec"]["template"]["spec"]
    return made


def test_kubernetes_schema_accepts_every_manifest() -> None:
    found = list(manifests())
    assert len(found) == 9
    for one in found:
        kubernetes_validate.validate(one, VERSION, strict=True)


def test_kubernetes_schema_rejects_a_misspelt_field() -> None:
    broken = of_kind("PodDisruptionBudget")[0]
    broken["spec"]["maxUnavaliable"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, VERSION, strict=True)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kustomize_builds_the_manifests() -> None:
    command = ["kubectl", "kustomize", str(KUBERNETES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    images = re.findall(r"image: (\S+)", done.stdout)
    assert images == ["registry.example/hookline:1"] * 3


def test_pods_are_unprivileged_and_have_time_to_shut_down() -> None:
    for workload in of_kind("Deployment", "Job"):
        spec = pod(workload)
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["automountServiceAccountToken"] is False
        [container] = spec["containers"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        if workload["kind"] == "Deployment":
            before = container.get("lifecycle", {}).get("preStop", {"exec": {"command": ["", "0"]}})
            pause = float(before["exec"]["command"][1])
            assert spec["terminationGracePeriodSeconds"] > LONGEST + pause
            assert "readinessProbe" in container


def test_deployments_have_disruption_budgets_and_matching_selectors() -> None:
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in of_kind("Deployment")]
    assert [one["spec"]["selector"]["matchLabels"] for one in of_kind("Deployment")] == labels
    budgets = of_kind("PodDisruptionBudget")
    assert [one["spec"]["selector"]["matchLabels"] for one in budgets] == labels
    assert of_kind("Service")[0]["spec"]["selector"] in labels


def test_packaging_files_hold_no_secret() -> None:
    for path in (*KUBERNETES.iterdir(), *CLUSTER.iterdir()):
        assert not SECRET.search(path.read_text("utf-8")), path.name


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    worker = (CLUSTER / "hookline-worker@.service").read_text("utf-8")
    gateway = (ROOT / "packaging" / "hookline.service").read_text("utf-8")
    dropped_in = tmp_path / "hookline.service.d"
    dropped_in.mkdir()
    for path, text in (
        (tmp_path / "hookline-worker@1.service", worker),
        (tmp_path / "hookline.service", gateway),
        (dropped_in / "no-turns.conf", (CLUSTER / "no-turns.conf").read_text("utf-8")),
    ):
        # The program and the user are not there on a machine that only tests.
        text = text.replace("/opt/hookline/bin/hookline", sys.executable)
        path.write_text(re.sub(r"^(User|Group)=.*\n", "", text, flags=re.M), "utf-8")
    units = [str(path) for path in tmp_path.glob("*.service")]
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    about = [line for line in done.stderr.splitlines() if "hookline" in line]
    assert (done.returncode, about) == (0, [])


def test_worker_unit_has_time_to_stop_and_the_gateways_restrictions() -> None:
    def lines(path: Path) -> set[str]:
        return {line for line in path.read_text("utf-8").splitlines() if "=" in line}

    worker = lines(CLUSTER / "hookline-worker@.service")
    limits = {"NoNewPrivileges", "Protect", "Private", "Restrict", "SystemCall", "Capability"}
    for line in lines(ROOT / "packaging" / "hookline.service"):
        if any(line.startswith(limit) for limit in limits) and "Exit" not in line:
            assert line in worker
    [seconds] = [line.partition("=")[2] for line in worker if line.startswith("TimeoutStopSec")]
    assert float(seconds) > LONGEST


def compose() -> dict[str, Any]:
    """The example, anchors resolved."""
    text = (CLUSTER / "compose.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def test_compose_example_is_sound() -> None:
    services = compose()["services"]
    for name in ("gateway", "worker", "migrate"):
        assert float(services[name]["stop_grace_period"].rstrip("s")) > LONGEST
        assert services[name]["cap_drop"] == ["ALL"]
        assert services[name]["read_only"] is True
        built = services[name]["build"]
        assert (CLUSTER / built["context"] / built["dockerfile"]).exists()
        for dist in built["args"]["PLUGINS"].split():
            assert list(ROOT.glob(f"plugins/*/{dist.removeprefix('hookline-')}"))
    assert services["gateway"]["command"] == ["gateway", "--no-turns"]
    waits = {"condition": "service_completed_successfully"}
    assert (
        services["worker"]["depends_on"] == services["gateway"]["depends_on"] == {"migrate": waits}
    )


def _has_compose() -> bool:
    program = shutil.which("docker")
    if program is None:
        return False
    return subprocess.run([program, "compose", "version"], capture_output=True).returncode == 0


@pytest.mark.skipif(not _has_compose(), reason="docker compose is not installed")
def test_docker_compose_accepts_the_example() -> None:
    command = ["docker", "compose", "-f", str(CLUSTER / "compose.yaml"), "config", "--quiet"]
    env = {"HOOKLINE_DB_PASSWORD": "x", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
