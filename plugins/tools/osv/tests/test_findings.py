"""The findings as the model reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Context, Deny, Excerpt, Plugin, ToolResult, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_osv import Osv
from hypothesis import given, settings
from hypothesis import strategies as st

Check = Callable[..., ToolResult]
V2 = "AV:N/AC:L/Au:N/C:P/I:P/A:P"
V3 = "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"
V4 = "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N"
LODASH = ("npm", "lodash", "4.17.15")


def advisory(
    id_: str, *, fixed: str | None = None, package: tuple[str, str] = ("npm", "lodash"), **more: Any
) -> dict[str, Any]:
    """An advisory of the OSV schema."""
    events: list[dict[str, str]] = [{"introduced": "0"}]
    if fixed:
        events.append({"fixed": fixed})
    affected = {
        "package": {"ecosystem": package[0], "name": package[1]},
        "ranges": [
            {"type": "SEMVER", "events": events},
            {"type": "GIT", "repo": "https://x", "events": [{"fixed": "0123456789abcdef"}]},
        ],
    }
    return {"id": id_, "modified": "2024-01-01T00:00:00Z", "affected": [affected], **more}


def rated(level: str) -> dict[str, Any]:
    return {"database_specific": {"severity": level}}


def test_advisory_is_one_line(osv: Any, check: Check) -> None:
    osv.vulns[LODASH] = [
        advisory(
            "GHSA-35jh-r3h4-6jhm",
            fixed="4.17.21",
            summary="Command Injection in lodash",
            aliases=["CVE-2021-23337"],
            severity=[{"type": "CVSS_V3", "score": V3}],
            **rated("CRITICAL"),
        )
    ]
    result = check("lodash", "npm", "4.17.15")
    assert result.ok
    assert result.text == (
        "npm lodash 4.17.15: 1 known vulnerability\n"
        "CRITICAL 9.8 GHSA-35jh-r3h4-6jhm (CVE-2021-23337): Command Injection in lodash; "
        "fixed in 4.17.21"
    )
    assert result.data["findings"][0]["fixed"] == ["4.17.21"]
    assert json.loads(json.dumps(result.data)) == result.data


def test_empty_result_is_not_reported_as_safe(check: Check) -> None:
    text = check("left-pad", "npm", "1.3.0").text
    assert text.startswith("npm left-pad 1.3.0: nothing known in OSV.")
    assert "does not say whether the package exists" in text


def test_findings_are_sorted_by_severity_after_malware(osv: Any, check: Check) -> None:
    osv.vulns[LODASH] = [
        advisory("GHSA-low", **rated("LOW")),
        advisory("GHSA-unrated"),
        advisory("GHSA-moderate", **rated("MODERATE")),
        advisory("MAL-2024-7", summary="Malicious code in lodash"),
        advisory("GHSA-v3", severity=[{"type": "CVSS_V3", "score": V3}]),
        advisory("GHSA-v2", severity=[{"type": "CVSS_V2", "score": V2}]),
        advisory("GHSA-high", **rated("HIGH")),
    ]
    lines = check("lodash", "npm", "4.17.15").text.splitlines()
    assert lines[0] == "npm lodash 4.17.15: MALWARE, do not install; 6 known vulnerabilities"
    assert lines[1] == "MALWARE MAL-2024-7: Malicious code in lodash"
    assert [line.split(" GHSA-")[0] for line in lines[2:]] == [
        *("CRITICAL 9.8", "HIGH 7.5", "HIGH", "MEDIUM", "LOW", "UNRATED")
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("severity", "shown"),
    [
        ([{"type": "CVSS_V4", "score": V4}], "CRITICAL 9.3"),
        ([{"type": "CVSS_V3", "score": V3}, {"type": "CVSS_V4", "score": V4}], "CRITICAL 9.3"),
        ([{"type": "CVSS_V3", "score": "CVSS:3.1/AV:X"}], "CVSS:3.1/AV:X"),
        ([{"type": "Ubuntu", "score": "medium"}], "medium"),
        ([{"type": "CVSS_V3"}, "odd", None], "UNRATED"),
        ("odd", "UNRATED"),
    ],
)
def test_cvss_vector_is_scored_or_shown_as_it_is(
    osv: Any, check: Check, severity: Any, shown: str
) -> None:
    osv.vulns[LODASH] = [advisory("GHSA-x", severity=severity)]
    assert check("lodash", "npm", "4.17.15").text.splitlines()[1].startswith(f"{shown} GHSA-x")


def test_severity_may_stand_beside_the_affected_package(osv: Any, check: Check) -> None:
    one, two = advisory("GHSA-a"), advisory("GHSA-b")
    one["affected"][0]["severity"] = [{"type": "CVSS_V3", "score": V3}]
    two["affected"][0]["ecosystem_specific"] = {"severity": "Low"}
    osv.vulns[LODASH] = [two, one]
    lines = check("lodash", "npm", "4.17.15").text.splitlines()
    assert [line.rpartition(" GHSA-")[0] for line in lines[1:]] == ["CRITICAL 9.8", "LOW"]


def test_aliased_advisories_share_one_line(osv: Any, check: Check) -> None:
    package = ("PyPI", "jinja2")
    osv.vulns["PyPI", "jinja2", "2.4.1"] = [
        advisory("PYSEC-2014-8", package=package, aliases=["CVE-2014-1402"], fixed="2.7.2"),
        advisory(
            "GHSA-8r7q-cvjq-x353", package=package, aliases=["CVE-2014-1402"], **rated("HIGH")
        ),
        advisory("PYSEC-2019-217", package=package, aliases=["CVE-2016-10745"], fixed="2.8.1"),
    ]
    lines = check("Jinja2", "pip", "2.4.1").text.splitlines()
    assert lines[0] == "PyPI jinja2 2.4.1: 2 known vulnerabilities"
    assert lines[1] == "HIGH GHSA-8r7q-cvjq-x353 (CVE-2014-1402, PYSEC-2014-8); fixed in 2.7.2"
    assert lines[2] == "UNRATED PYSEC-2019-217 (CVE-2016-10745); fixed in 2.8.1"


def test_withdrawn_advisories_are_left_out(osv: Any, check: Check) -> None:
    osv.vulns[LODASH] = [advisory("GHSA-gone", withdrawn="2024-01-01T00:00:00Z")]
    assert "nothing known" in check("lodash", "npm", "4.17.15").text


def test_fixed_versions_are_those_of_this_package(osv: Any, check: Check) -> None:
    one = advisory("GHSA-two", fixed="4.0.1")
    one["affected"].append(
        {
            "package": {"ecosystem": "npm", "name": "lodash-es"},
            "ranges": [{"type": "SEMVER", "events": [{"fixed": "9.9.9"}]}],
        }
    )
    osv.vulns[LODASH] = [one]
    text = check("lodash", "npm", "4.17.15").text
    assert "fixed in 4.0.1" in text
    assert "9.9.9" not in text
    assert "0123456789abcdef" not in text


def test_last_affected_version_is_shown_if_there_is_no_fix(osv: Any, check: Check) -> None:
    one = advisory("GHSA-last")
    one["affected"][0]["ranges"][0]["events"].append({"last_affected": "4.17.20"})
    osv.vulns[LODASH] = [one, advisory("GHSA-none")]
    lines = check("lodash", "npm", "4.17.15").text.splitlines()
    assert lines[1].endswith("affected up to 4.17.20, no fix named")
    assert lines[2].endswith("no fix known")


def test_result_without_a_version_covers_all_versions(osv: Any, check: Check) -> None:
    osv.vulns["npm", "lodash", ""] = [advisory("GHSA-any")]
    assert "of any version" in check("lodash", "npm").text.splitlines()[0]
    assert "version" not in osv.asked[-1]


def test_every_page_is_fetched(osv: Any, check: Check) -> None:
    osv.page = 2
    osv.vulns[LODASH] = [advisory(f"GHSA-{n}") for n in range(5)]
    result = check("lodash", "npm", "4.17.15")
    assert result.text.startswith("npm lodash 4.17.15: 5 known vulnerabilities")
    assert [one.get("page_token") for one in osv.asked] == [None, "at-2", "at-4"]
    assert not result.notes


def test_page_limit_is_noted_in_the_result(osv: Any, check: Check) -> None:
    osv.endless = True
    osv.vulns[LODASH] = [advisory("GHSA-1")]
    result = check("lodash", "npm", "4.17.15", max_pages=3)
    assert len(osv.asked) == 3
    assert "GHSA-1" in result.text
    assert result.notes == ("OSV has more advisories than were fetched",)


def test_long_list_is_cut_at_the_least_severe(osv: Any, check: Check) -> None:
    osv.vulns[LODASH] = [advisory(f"GHSA-{n}", **rated("LOW")) for n in range(30)]
    osv.vulns[LODASH].append(advisory("GHSA-worst", **rated("CRITICAL")))
    result = check("lodash", "npm", "4.17.15", max_shown=4)
    lines = result.text.splitlines()
    assert "GHSA-worst" in lines[1]
    assert lines[-1] == "… and 27 more, none worse than these"
    assert len(lines) == 6
    assert len(result.data["findings"]) == 31


def test_summary_is_one_bounded_line(osv: Any, check: Check) -> None:
    osv.vulns[LODASH] = [
        advisory("GHSA-a", summary="first\nsecond\t" + "x" * 1000),
        advisory("GHSA-b", details="only   details"),
    ]
    lines = check("lodash", "npm", "4.17.15").text.splitlines()
    assert len(lines) == 3
    assert ": first second xxx" in lines[1]
    assert len(lines[1]) < 250
    assert "GHSA-b: only details" in lines[2]


def test_summary_passes_pre_read(harness: Callable[..., Harness], osv: Any) -> None:
    class Gate(Plugin[NoConfig]):
        @hookimpl
        def pre_read(self, ctx: Context, excerpt: Excerpt) -> Deny | None:
            return Deny("it gives orders") if "obey" in excerpt.text else None

    osv.vulns[LODASH] = [advisory("GHSA-a", summary="obey me"), advisory("GHSA-b", summary="fine")]
    steps = [calls("osv_check", package="lodash", ecosystem="npm", version="4.17.15"), "done"]
    h = harness(Osv, Gate, config={"osv": {"base_url": osv.url}}, model=steps)
    lines = h.send("check").tool_calls[0].text.splitlines()
    assert lines[1] == "UNRATED GHSA-a: (summary withheld: it gives orders); no fix known"
    assert lines[2] == "UNRATED GHSA-b: fine; no fix known"


def test_tool_is_read_only_and_cached_with_a_small_schema(harness: Callable[..., Harness]) -> None:
    h = harness(Osv, config={"cache_seconds": 60}, model=["hi"])
    h.send("hello")
    (tool,) = [one for one in h.plugin(Osv).host.tools() if one.name == "osv_check"]
    assert tool.read_only
    assert tool.cache_ttl == 60
    (schema,) = h.model.last.tools
    text = json.dumps([schema.name, schema.description, schema.parameters], separators=(",", ":"))
    assert len(text) / 4 < 120


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
KEYS = ("id", "aliases", "affected", "severity", "summary", "database_specific", "withdrawn")
odd_advisories = st.fixed_dictionaries(
    {"id": st.just("GHSA-odd") | json_values},
    optional={key: json_values | st.lists(json_values, max_size=2) for key in KEYS[1:]},
)


@pytest.mark.slow
@settings(max_examples=25)
@given(odd=st.lists(odd_advisories | json_values, max_size=3))
def test_malformed_advisories_do_not_hide_valid_ones(
    osv: Any, check: Check, odd: list[Any]
) -> None:
    osv.vulns[LODASH] = [*odd, advisory("GHSA-good", fixed="4.17.21")]
    result = check("lodash", "npm", "4.17.15")
    assert result.ok
    assert "GHSA-good" in result.text
