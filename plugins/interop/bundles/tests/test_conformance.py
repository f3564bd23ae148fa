"""The cases of the Agent Plugins conformance suite, by their ids.

They run on plugins that :mod:`.conformance_suite` makes, and on those of a checkout of
agentplugins/agent-plugins-conformance if ``AGENT_PLUGINS_CONFORMANCE`` names one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from support.mcp_site import McpSite, mcp_site

from .conformance_suite import CORE, INVALID_MCP, INVALID_SERVERS, MCP, PLUGIN, RECOVERY, make_suite
from .conftest import Make, write_json

SERVERS = ("default", "relative", "root", "data", "command-token-posix", "recovery-valid")
CWD = {"default": "omitted", "relative": "plugin-relative", "root": "plugin-root"}


@dataclass(frozen=True)
class Observed:
    """What the suite's skill would collect: the parts of each plugin, and each probe's evidence."""

    parts: dict[str, dict[str, list[str]]]
    evidence: dict[str, dict[str, Any]]

    def env(self, name: str) -> str:
        return str(self.evidence["default"]["env"][name])

    @property
    def root(self) -> str:
        return str(self.evidence["default"]["root"])

    @property
    def data(self) -> str:
        return str(self.evidence["default"]["resolvedData"])


def cases() -> dict[str, Callable[[Observed], bool]]:
    """Whether each case passes, by its id."""
    found: dict[str, Callable[[Observed], bool]] = {
        "skills.discovery.immediate-children": lambda o: (
            set(o.parts[CORE]["skills"]) >= {"conformance-alpha", "conformance-beta"}
            and "conformance-nested" not in o.parts[CORE]["skills"]
        ),
        "mcp.stdio.cwd.omitted": lambda o: o.evidence["default"]["cwd"] == o.root,
        "mcp.stdio.cwd.plugin-relative": lambda o: (
            o.evidence["relative"]["cwd"] == f"{o.root}/probe-workdir"
        ),
        "mcp.stdio.cwd.plugin-root": lambda o: (
            o.evidence["root"]["cwd"] == f"{o.root}/probe-workdir"
        ),
        "mcp.stdio.cwd.plugin-data": lambda o: o.evidence["data"]["cwd"] == o.data,
        "mcp.stdio.env.plugin-root": lambda o: o.env("PLUGIN_ROOT") == o.root,
        "mcp.stdio.env.plugin-data-absolute": lambda o: Path(o.env("PLUGIN_DATA")).is_absolute(),
        "filesystem.data.writable": lambda o: o.evidence["default"]["dataWrite"]["error"] is None,
        "filesystem.data.distinct-across-plugins": lambda o: (
            o.data != o.evidence["recovery-valid"]["resolvedData"]
        ),
        "filesystem.data.consistent-within-plugin": lambda o: (
            {o.evidence[name]["resolvedData"] for name in ("default", "relative", "root", "data")}
            == {o.data}
        ),
        "mcp.stdio.env.configured-value": lambda o: (
            o.env("APC_VALUE") == "fixture value with spaces"
        ),
        "mcp.stdio.env.expansion": lambda o: (
            o.env("APC_EXPANSION") == f"{o.root}|{o.data}|{o.root}"
            and o.env("APC_LITERAL") == "${APC_UNKNOWN}|$APC_VALUE|${PLUGIN_ROOT_SUFFIX}"
        ),
        "mcp.stdio.args.preservation-and-expansion": lambda o: (
            o.evidence["default"]["argv"]
            == [
                *("default", "arg with spaces", "", o.root, o.data),
                *("${APC_UNKNOWN}", "$APC_VALUE", "${PLUGIN_ROOT_SUFFIX}"),
            ]
        ),
        "mcp.stdio.command.single-token": lambda o: (
            o.evidence["command-token-posix"]["argv"][-3:]
            == ["arg with spaces", "", "literal-value"]
        ),
        "skills.recovery.valid-skill-available": lambda o: (
            o.parts[RECOVERY]["skills"] == ["conformance-recovery-valid"]
        ),
        "mcp.stdio.recovery.valid-server-available": lambda o: "recovery-valid" in o.evidence,
        "skills.recovery.invalid-mcp-document": lambda o: (
            o.parts[INVALID_MCP]["skills"] == ["conformance-invalid-mcp-valid"]
        ),
    }
    for server, variant in {**CWD, "data": "plugin-data"}.items():
        found[f"mcp.stdio.tool-availability.cwd-{variant}"] = lambda o, s=server: s in o.evidence
    for server, case in INVALID_SERVERS.items():
        found[case] = lambda o, s=server: s not in o.parts[RECOVERY]["servers"]
    return found


@pytest.fixture(params=["made again", "published"])
def suite(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "made again":
        return make_suite(tmp_path / "suite")
    folder = os.environ.get("AGENT_PLUGINS_CONFORMANCE")
    if not folder:
        pytest.skip("AGENT_PLUGINS_CONFORMANCE names no checkout of the conformance suite")
    if not shutil.which("node"):
        pytest.skip("the probes of the conformance suite need Node.js")
    return Path(folder)


@pytest.fixture
def mcp() -> type:
    pytest.importorskip("mcp.client.client")  # takes a second, which would count as a blocked loop
    found: type = pytest.importorskip("hookline_mcp").Mcp
    return found


@pytest.mark.long
def test_every_case_of_plugins_and_their_programs_passes(
    make: Make, mcp: type, suite: Path
) -> None:
    first = make()
    for plugin in (CORE, RECOVERY, INVALID_MCP):
        done = first.cli(f"bundles add {suite}/plugins/{plugin} --yes")
        assert done.exit_code == 0, done.stderr
    rows = json.loads(first.cli("bundles list --json").stdout)
    for name in SERVERS:
        done = make(mcp, home=first.home).cli(f"mcp approve {name} --yes")
        assert done.exit_code == 0, done.stderr
    model = [[calls(f"mcp__{name}__observe") for name in SERVERS], "done"]
    config = {"mcp": {"discovery": "direct"}}
    h = make(mcp, home=first.home, model=model, config=config)
    results = h.send("go", session="new", approve="yes").tool_calls
    evidence = {}
    for name, result in zip(SERVERS, results, strict=True):
        evidence[name] = json.loads(result.text.split("\n")[0])["evidence"]
    observed = Observed({row["name"]: row["parts"] for row in rows}, evidence)
    assert [case for case, passes in cases().items() if not passes(observed)] == []


FIXTURE = "${PLUGIN_ROOT}|${PLUGIN_DATA}|fixture value with spaces"


@pytest.fixture
def site() -> Iterator[McpSite]:
    with mcp_site() as made:
        yield made


@pytest.mark.long
def test_every_case_of_remote_servers_passes(
    make: Make, mcp: type, tmp_path: Path, site: McpSite
) -> None:
    headers = {"x-apc-fixture": FIXTURE, "AcCePt": "text/plain"}
    entries = {
        "http": ("streamable-http", "/mcp?value=$APC_HTTP_VALUE"),
        "sse": ("sse", "/sse?value=$APC_SSE_VALUE"),
        "http-redirect": ("streamable-http", "/redirect"),
        "sse-redirect": ("sse", "/redirect"),
        "sse-endpoint-origin": ("sse", "/sse-elsewhere"),
    }
    servers = {
        name: {"type": kind, "url": f"{site.url}{path}", "headers": headers}
        for name, (kind, path) in entries.items()
    }
    folder = tmp_path / "remote"
    write_json(folder / "plugin.json", {"$schema": PLUGIN, "name": "remote"})
    write_json(folder / "mcp.json", {"$schema": MCP, "mcpServers": servers})
    core = {"network.allow_hosts": ["127.0.0.1"]}
    first = make(core=core)
    assert first.cli(f"bundles add {folder} --yes").exit_code == 0
    for name in ("http", "sse"):
        done = make(mcp, home=first.home, core=core).cli(f"mcp approve {name} --yes")
        assert done.exit_code == 0, done.stderr
        path = servers[name]["url"].removeprefix(site.url)
        assert path in {target for _, target, _ in site.requests}
        assert {given["x-apc-fixture"] for _, _, given in site.requests} == {FIXTURE}
        assert all(given["accept"] != "text/plain" for _, _, given in site.requests)
        site.requests.clear()
    for name in ("http-redirect", "sse-redirect", "sse-endpoint-origin"):
        assert make(mcp, home=first.home, core=core).cli(f"mcp test {name}").exit_code != 0
    assert site.elsewhere == []
