"""Skills of a team: several homes on one store, by command line and in turns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing import Harness
from hookline_skills.team import team_skills

from .conftest import POISON, SECRET
from .team_crew import BODY, SKILL, Crew

STORES = ("git", pytest.param("postgres", marks=pytest.mark.slow))


@pytest.fixture(params=STORES)
def crew(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    harness: Callable[..., Harness],
    monkeypatch: pytest.MonkeyPatch,
) -> Crew:
    monkeypatch.setattr(team_skills, "GIT_REFRESH_INTERVAL", 0.0)
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    return Crew(tmp_path, harness, url)


@pytest.mark.slow
def test_approved_proposal_is_loaded_by_all_members(crew: Crew) -> None:
    ann, ben, cid = crew.all
    ann.write("ship-it")
    assert "Proposed ship-it version 1" in ann.do("propose ship-it")
    assert cid.loaded("ship-it") == ""
    assert cid.log("ship-it") == [(1, "proposed")]
    shown = ben.do("review")
    assert "+1. Build it." in shown
    assert "by ann" in shown
    assert "signed by ben" in ben.do("review --approve ship-it")
    assert "2. Ship it." in cid.loaded("ship-it")
    assert "by ann  reviewer ben" in cid.do("log ship-it")
    assert "There are no proposals." in ben.do("review")
    assert "Build it" in cid.sees("please ship it")
    assert cid.call("skill_view", name="ship-it").text.startswith("(by team:ann)")


@pytest.mark.slow
def test_own_copy_of_the_author_becomes_the_teams(crew: Crew) -> None:
    crew.share()
    assert "Loaded here: version 1." in crew.ann.do("log ship-it")
    assert not (crew.ann.home / "skills" / "ship-it").exists()
    assert "Restored" in crew.ann.do("restore ship-it")


@pytest.mark.slow
def test_own_skill_overrides_the_teams(crew: Crew) -> None:
    crew.cid.write("ship-it", "Mine.\n")
    crew.share()
    assert "Mine." in crew.cid.loaded("ship-it")
    assert "instead of the team's version" in crew.cid.do("log ship-it")
    crew.cid.do("archive ship-it")
    assert "Build it." in crew.cid.loaded("ship-it")
    assert "is the team's" in crew.cid.fails("archive ship-it")


@pytest.mark.slow
def test_member_cannot_approve_own_proposal(crew: Crew) -> None:
    crew.trust(crew.keys["ann"], crew.keys["ben"])
    crew.ann.write("ship-it")
    crew.ann.do("propose ship-it")
    assert "you proposed it; another reviewer" in crew.ann.fails("review --approve ship-it")
    assert crew.cid.log("ship-it") == [(1, "proposed")]


@pytest.mark.slow
def test_untrusted_key_cannot_approve(crew: Crew) -> None:
    crew.ann.write("ship-it")
    crew.ann.do("propose ship-it")
    for words in ("review --approve ship-it", "rollback ship-it", "revoke ship-it"):
        assert f"{crew.keys['cid']} is not in plugins.skills.trust" in crew.cid.fails(words)
    crew.cid.restart(trust=[crew.keys["cid"]])  # he trusts himself, nobody else does
    crew.cid.do("review --approve ship-it")
    assert "Build it." in crew.cid.loaded("ship-it")
    assert crew.ben.loaded("ship-it") == ""
    assert "not in plugins.skills.trust" in crew.ben.doctor()
    assert crew.ben.log("ship-it") == [(1, "not accepted")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "why"),
    [(f"{POISON}\n", "it tries to give orders"), (f"Log in with {SECRET}.\n", "in line 6")],
)
def test_skill_refused_by_pre_learn_is_not_proposed(crew: Crew, body: str, why: str) -> None:
    crew.ann.write("ship-it", body)
    said = crew.ann.fails("propose ship-it")
    assert why in said
    assert SECRET not in said
    assert "There are no proposals." in crew.ben.do("review")


@pytest.mark.slow
def test_reviewer_cannot_approve_a_skill_refused_by_pre_learn(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proposer's home has no ``pre_learn`` hooks, as an attacker's would not."""

    async def open_door(*_: object) -> None:
        return None

    crew.ann.write("ship-it", f"1. Do it.\n\n{POISON}\n")
    with monkeypatch.context() as patched:
        patched.setattr("hookline_skills.team.proposal_checks.ProposalChecks.check", open_door)
        crew.ann.do("propose ship-it")
    assert "It cannot be approved: skills/ship-it/SKILL.md was refused" in crew.ben.do("review")
    for _ in range(2):
        assert "cannot be approved" in crew.ben.fails("review --approve ship-it")
    assert crew.cid.log("ship-it") == [(1, "proposed")]
    assert ("skill", "ship-it", "refused") in [row[:3] for row in crew.ben.book]
    crew.ben.do("review --reject ship-it --why 'it gives orders'")
    assert "(it gives orders)" in crew.ann.do("log ship-it")


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({SKILL: b"no front matter"}, "not valid"),
        ({SKILL: b"\xff\xfe"}, "binary"),
        ({"references/x.md": b"x"}, "SKILL.md"),
        ({"assets/x.bin": b"\0\1"}, "must be able to read all of it"),
    ],
)
def test_invalid_skill_is_not_proposed(crew: Crew, files: dict[str, bytes], why: str) -> None:
    folder = crew.ann.write("ship-it")
    for path, data in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    if SKILL not in files and "references/x.md" in files:
        (folder / SKILL).unlink()
        why = "no skill"
    assert "was not" not in crew.ann.fails("propose ship-it")
    assert "There are no proposals." in crew.ben.do("review")
    assert why


@pytest.mark.slow
def test_duplicate_of_a_team_skill_is_not_proposed(crew: Crew) -> None:
    crew.share()
    crew.cid.write("ship-this", description="Does ship it.")
    assert "the team's skill ship-it already covers this" in crew.cid.fails("propose ship-this")


@pytest.mark.slow
def test_skill_with_a_script_needs_approval_at_a_terminal(crew: Crew) -> None:
    crew.ann.write("ship-it", scripts__ship_sh="#!/bin/sh\necho shipped\n")
    crew.ann.do("propose ship-it")
    assert "contains a script: scripts/ship.sh" in crew.ben.do("review")
    said = crew.ben.fails("review --approve ship-it")
    assert "a person must confirm it at a terminal" in said
    assert crew.cid.loaded("ship-it") == ""


@pytest.mark.slow
def test_proposal_newer_than_the_review_is_not_approved(crew: Crew) -> None:
    crew.ann.write("ship-it")
    crew.ann.do("propose ship-it")
    crew.ben.do("review")
    crew.ann.write("ship-it", BODY + "4. And more.\n")
    crew.ann.do("propose ship-it")
    assert "since you last looked" in crew.ben.fails("review --approve ship-it")
    assert crew.cid.log("ship-it") == [(1, "rejected"), (2, "proposed")]
    crew.ben.do("review --approve ship-it@2")
    assert "And more" in crew.cid.loaded("ship-it")


@pytest.mark.slow
def test_revoked_skill_is_refused_at_once_everywhere(crew: Crew) -> None:
    crew.share()
    ann, ben, cid = crew.all
    assert "Build it" in cid.sees("please ship it", session="one")
    prompt = cid.harness.model.last.system
    assert "ship-it" in prompt
    ben.do("revoke ship-it --why 'it deletes backups'")
    for member in crew.all:
        said = member.call("skill_view", name="ship-it")
        assert not said.ok
        assert "was revoked by ben: it deletes backups" in said.text
        assert member.loaded("ship-it") == ""
    assert "Build it" not in cid.sees("please ship it", session="two")
    cid.sees("and now?", session="one")
    assert cid.harness.model.last.system == prompt  # a session under way keeps its prompt
    assert "revoked by ben" in cid.doctor()
    assert "was revoked" in ben.fails("revoke ship-it")
    ann.write("ship-it")  # as it was: it is put away again
    assert "no skill" in ann.fails("propose ship-it")


@pytest.mark.slow
def test_rollback_is_a_new_version_with_the_old_files(crew: Crew) -> None:
    crew.share()
    crew.share(body=BODY.replace("Ship it.", "Ship it at night."))
    assert "at night" in crew.cid.loaded("ship-it")
    assert "version 3 has the files of version 1" in crew.ben.do("rollback ship-it")
    assert "at night" not in crew.cid.loaded("ship-it")
    assert crew.cid.log("ship-it") == [(1, "approved"), (2, "approved"), (3, "approved")]
    crew.ben.do("revoke ship-it")
    crew.ben.do("rollback ship-it --to 2")
    assert "at night" in crew.cid.loaded("ship-it")
    assert "no approved version 3" in crew.ben.fails("rollback ship-it --to 3")


@pytest.mark.slow
def test_reviewer_cannot_roll_back_to_own_version(crew: Crew) -> None:
    crew.trust(crew.keys["ben"], crew.keys["cid"])
    crew.ben.write("ship-it")
    crew.ben.do("propose ship-it")
    crew.cid.do("review --approve ship-it")
    crew.ann.write("ship-it", BODY.replace("Ship it.", "Ship it at night."))
    crew.ann.do("propose ship-it --onto 1")
    crew.ben.do("review --approve ship-it")
    assert "another reviewer must approve" in crew.ben.do("rollback ship-it")
    assert "at night" in crew.cid.loaded("ship-it")
    crew.cid.do("review --approve ship-it")
    assert "at night" not in crew.cid.loaded("ship-it")


@pytest.mark.slow
def test_change_of_a_team_skill_by_the_agent_is_a_draft(crew: Crew) -> None:
    crew.share()
    patch = {"old_string": "Ship it.", "new_string": "Migrate, then ship it."}
    done = crew.cid.call("skill_manage", action="patch", name="ship-it", **patch)
    assert done.ok, done.text
    assert "Migrate" in crew.cid.loaded("ship-it")
    assert "Migrate" not in crew.ann.loaded("ship-it")
    assert "draft, based on version 1" in crew.cid.do("log ship-it")
    crew.cid.do("propose ship-it")
    crew.ben.do("review --approve ship-it")
    assert "Migrate" in crew.ann.loaded("ship-it")
    assert "Loaded here: version 2." in crew.cid.do("log ship-it")
    refused = crew.cid.call("skill_manage", action="delete", name="ship-it")
    assert "only a reviewer can revoke it" in refused.text


@pytest.mark.slow
def test_changes_in_different_places_are_merged(crew: Crew) -> None:
    crew.share()
    for member, old, new in ((crew.ann, "Build it", "Build all"), (crew.cid, "Look", "Look twice")):
        patch = {"old_string": old, "new_string": new}
        assert member.call("skill_manage", action="patch", name="ship-it", **patch).ok
        member.do("propose ship-it")
    assert "choose one: ship-it@2 by ann, ship-it@3 by cid" in crew.ben.fails(
        "review --approve ship-it"
    )
    crew.ben.do("review --approve ship-it@3")
    assert "version 2 merged with version 3" in crew.ben.do("review --approve ship-it@2")
    text = crew.cid.loaded("ship-it")
    assert "Build all" in text
    assert "Look twice" in text
    assert crew.cid.log("ship-it")[1:] == [(2, "merged"), (3, "approved"), (4, "approved")]
    assert "4  " in crew.ann.do("log ship-it")
    assert "Loaded here: version 4." in crew.ann.do("log ship-it")


@pytest.mark.slow
def test_conflicting_changes_are_left_to_a_person(crew: Crew) -> None:
    crew.share()
    for member, new in ((crew.ann, "Build all"), (crew.cid, "Build most")):
        patch = {"old_string": "Build it", "new_string": new}
        member.call("skill_manage", action="patch", name="ship-it", **patch)
        member.do("propose ship-it")
    crew.ben.do("review --approve ship-it@2")
    said = crew.ben.fails("review --approve ship-it@3")
    assert "changes the same lines of SKILL.md" in said
    assert "Build all" in crew.ben.loaded("ship-it")
    crew.ben.do("review --reject ship-it@3 --why 'see version 2'")
    assert "Build most" in crew.cid.loaded("ship-it")
    crew.cid.write("ship-it", BODY.replace("Build it", "Build nearly all"))
    assert "with --onto 2" in crew.cid.fails("propose ship-it")
    assert "Build all" in crew.cid.do("log ship-it --version 2")
    crew.cid.do("propose ship-it --onto 2")
    crew.ben.do("review --approve ship-it")
    assert "Build nearly all" in crew.ann.loaded("ship-it")


@pytest.mark.slow
def test_reviewer_changes_a_proposal_and_another_approves(crew: Crew) -> None:
    crew.trust(crew.keys["ben"], crew.keys["cid"])
    crew.ann.write("ship-it")
    crew.ann.do("propose ship-it")
    crew.ben.do("review --change ship-it")
    folder = crew.ben.home / "skills" / "ship-it"
    text = (folder / SKILL).read_text("utf-8")
    (folder / SKILL).write_text(text.replace("Look.", "Look twice."), "utf-8")
    crew.ben.do("propose ship-it")
    assert "you proposed it" in crew.ben.fails("review --approve ship-it@2")
    crew.cid.do("review --approve ship-it@2")
    assert "Look twice." in crew.ann.do("log ship-it --version 2")


@pytest.mark.slow
def test_team_version_can_be_copied_to_change_it(crew: Crew) -> None:
    crew.share()
    crew.cid.do("review --change ship-it")
    assert "draft, based on version 1" in crew.cid.do("log ship-it")
    crew.cid.write("ship-it", BODY + "4. Rest.\n")
    crew.cid.do("propose ship-it")
    crew.ben.do("review --approve ship-it")
    assert "Loaded here: version 2." in crew.cid.do("log ship-it")
    assert "in the way" not in crew.cid.do("review --change ship-it")


@pytest.mark.slow
def test_concurrent_proposals_get_consecutive_versions(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cid proposes after Ann has read the store and before she writes."""
    crew.ann.write("ship-it")
    crew.cid.write("ship-it", BODY + "4. Rest.\n")
    first = crew.ann.team.store.append
    meanwhile: list[str] = []

    async def later(*arguments: object, **named: object) -> None:
        if not meanwhile:
            meanwhile.append("cid")
            import asyncio

            await asyncio.to_thread(lambda: crew.cid.do("propose ship-it"))
        await first(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(crew.ann.team.store, "append", later)
    assert "Proposed ship-it version 2" in crew.ann.do("propose ship-it")
    assert crew.ben.log("ship-it") == [(1, "proposed"), (2, "proposed")]
    rows = json.loads(crew.ben.do("review --json"))
    assert [(row["version"], row["author"]) for row in rows] == [(1, "cid"), (2, "ann")]


@pytest.mark.slow
def test_team_actions_are_audited(crew: Crew) -> None:
    crew.share()
    assert [row[:3] for row in crew.ann.book] == [("skill", "ship-it", "proposed")]
    [(kind, name, verdict, detail)] = crew.ben.book
    assert (kind, name, verdict) == ("skill", "ship-it", "approved")
    assert detail["author"] == "ann"
    assert detail["reviewer"] == "ben"
    assert detail["version"] == 1
    assert set(detail["files"]) == {SKILL}


@pytest.mark.slow
def test_skill_can_be_proposed_from_a_chat(crew: Crew) -> None:
    crew.ann.write("ship-it")
    assert "Proposed ship-it version 1" in crew.ann.harness.send("/skills propose ship-it").text
    assert "Usage: /skills propose" in crew.ann.harness.send("/skills propose").text
    assert "was not proposed: no skill" in crew.ann.harness.send("/skills propose none").text
    assert crew.ben.log("ship-it") == [(1, "proposed")]
