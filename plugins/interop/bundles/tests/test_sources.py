"""Bundles from git repositories, archives and catalogs over https, served by this machine."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from support.git_server import GitServer, git, serving

from .conftest import Make, claude_plugin, write, write_json
from .test_hooks import BASH, Tools

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not shutil.which("git") or not shutil.which("openssl"), reason="needs git and openssl"
    ),
]


@pytest.fixture
def work(tmp_path: Path, demo: Path) -> Path:
    """A repository with the plugin `demo`, and two more in a marketplace on the branch `many`."""
    git(demo, "init", "-q", "-b", "main")
    commit(demo, "first")
    git(demo, "checkout", "-q", "-b", "many")
    for name in ("one", "two"):
        claude_plugin(demo / "plugins" / name, name)
    rows = [{"name": name, "source": f"./plugins/{name}"} for name in ("one", "two")]
    write_json(demo / ".claude-plugin/marketplace.json", {"name": "m", "plugins": rows})
    commit(demo, "second")
    git(demo, "checkout", "-q", "main")
    return demo


def commit(work: Path, text: str) -> None:
    git(work, "add", "-A", "-f")
    git(work, "commit", "-q", "-m", text)


@pytest.fixture
def server(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """The repository behind https."""
    repositories = tmp_path / "repositories"
    repositories.mkdir()
    publish(work, tmp_path)
    with serving(repositories, tmp_path) as found:
        monkeypatch.setenv("GIT_SSL_CAINFO", str(found.certificate))
        monkeypatch.setenv("SSL_CERT_FILE", str(found.certificate))
        yield found


def publish(work: Path, tmp_path: Path) -> None:
    target = tmp_path / "repositories/demo.git"
    shutil.rmtree(target, ignore_errors=True)
    git(tmp_path, "clone", "-q", "--bare", str(work), str(target))


@pytest.fixture
def h(make: Make, server: GitServer) -> Harness:
    return make(Tools, model=BASH, core={"network.allow_hosts": ["localhost"]})


def rows(h: Harness) -> dict[str, dict[str, Any]]:
    listed = json.loads(h.cli("bundles list --json").stdout)
    return {row["name"]: row for row in listed}


def test_bundle_is_added_and_updated_from_a_repository(
    h: Harness, server: GitServer, work: Path, tmp_path: Path
) -> None:
    done = h.cli(f"bundles add {server.root}/demo.git --yes")
    assert done.exit_code == 0, done.stderr
    assert rows(h)["demo"]["state"] == "on"
    assert not (h.home / "bundles/demo/.git").exists()
    assert "up to date" in h.cli("bundles update demo --yes").stdout
    write(work / "commands/plan.md", "Plan\n")
    commit(work, "plan")
    publish(work, tmp_path)
    assert "new: commands/plan.md" in h.cli("bundles update demo --yes").stdout
    assert rows(h)["demo"]["parts"]["commands"] == ["plan", "review"]


def test_reference_and_folder_of_a_repository(h: Harness, server: GitServer) -> None:
    done = h.cli(f"bundles add {server.root}/demo.git#many:plugins/two --yes")
    assert done.exit_code == 0, done.stderr
    assert list(rows(h)) == ["two"]


def test_one_plugin_of_a_marketplace(h: Harness, server: GitServer) -> None:
    several = h.cli(f"bundles add {server.root}/demo.git#many --yes")
    assert several.exit_code != 0
    assert "--only NAME" in several.stderr
    done = h.cli(f"bundles add {server.root}/demo.git#many --only one --yes")
    assert done.exit_code == 0, done.stderr
    assert list(rows(h)) == ["one"]


def zipped(folder: Path) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path in folder.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                archive.write(path, f"demo-main/{path.relative_to(folder)}")
    return data.getvalue()


def tarred(folder: Path) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(folder, "demo-main")
    return data.getvalue()


@pytest.mark.parametrize("name", ["demo.zip", "demo.tar.gz"])
def test_bundle_is_added_from_an_archive(
    h: Harness, server: GitServer, demo: Path, name: str
) -> None:
    server.files[f"/{name}"] = zipped(demo) if name.endswith("zip") else tarred(demo)
    done = h.cli(f"bundles add {server.root}/{name} --yes")
    assert done.exit_code == 0, done.stderr
    assert rows(h)["demo"]["parts"]["commands"] == ["review"]
    assert not (h.home / "bundles/demo/.git").exists()


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("{root}/missing.git", "could not fetch"),
        ("{root}/demo.git#no-such-branch", "could not fetch"),
        ("{root}/demo.git#main:nowhere", "no folder nowhere"),
        ("{root}/missing.zip", "404"),
        ("http://localhost/demo.zip", "https only"),
        ("git://localhost/demo.git", "https only"),
    ],
)
def test_source_that_cannot_be_had_leaves_nothing(
    h: Harness, server: GitServer, spec: str, why: str
) -> None:
    done = h.cli(f"bundles add {spec.format(root=server.root)} --yes")
    assert done.exit_code != 0
    assert why in done.stderr
    assert rows(h) == {}
    assert not list((h.home / "bundles/.quarantine").iterdir())


def test_private_address_is_refused(make: Make, server: GitServer) -> None:
    done = make().cli(f"bundles add {server.root}/demo.git --yes")
    assert done.exit_code != 0
    assert server.asked == []


def test_catalog_over_https_pins_and_its_daily_job_enforces_what_it_removed(
    h: Harness, server: GitServer, demo: Path
) -> None:
    h.cli(f"bundles add {demo} --yes")
    digest = rows(h)["demo"]["sha256"]
    h.cli("bundles remove demo --yes")
    source = f"{server.root}/demo.git"
    listed = {"name": "demo", "source": source, "sha256": digest}
    server.files["/catalog.json"] = json.dumps({"name": "acme", "bundles": [listed]}).encode()
    assert h.cli(f"bundles catalog add {server.root}/catalog.json").exit_code == 0
    done = h.cli("bundles add demo@acme --yes")
    assert done.exit_code == 0, done.stderr
    removed = [{"name": "demo", "reason": "stole keys"}]
    server.files["/catalog.json"] = json.dumps({"name": "acme", "removed": removed}).encode()
    h.job("catalogs")
    text = h.send("go", session="next").tool_calls[0].text
    assert rows(h)["demo"]["state"] == "revoked"
    assert text.startswith("Denied: demo: ")
    assert "stole keys" in text
