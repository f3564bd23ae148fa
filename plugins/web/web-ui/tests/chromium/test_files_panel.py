"""The files of a chat beside it: the tree, previews, changes and uploads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

New = Callable[..., Window]
PAGE = "<style>h1{color:rgb(1, 2, 3)}</style><h1>Board</h1><script>document.body.remove()</script>"
FILES = {
    "report.md": "# Sales\n\n**up** <script>alert(1)</script>\n",
    "data/sales.csv": 'region,revenue\nNorth,41\n"West, new",9\n',
    "board.html": PAGE,
    "notes.txt": "new line\n",
}
MANY = 12
MAKES = f"mkdir made; for n in $(seq 10 {MANY + 9}); do echo $n > made/$n.txt; done"
# An old time of writing, as tar leaves it.
MAKES += "; touch -d 2001-01-01 made/*"
SCRIPT = [
    {
        "when": "write it",
        "text": "I write.",
        "tools": [
            {"name": "write_file", "arguments": {"path": path, "content": content}}
            for path, content in FILES.items()
        ],
        "repeat": True,
    },
    {
        "when": "run it",
        "text": "I run.",
        "tools": [{"name": "bash", "arguments": {"command": MAKES}}],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]
DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    const at = document.querySelector('.files-panel .details-body');
    for (const kind of ['dragover', 'drop'])
        at.dispatchEvent(
            new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "notes.txt").write_text("old line\n")
    return folder


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Gateway]:
    if shutil.which("git") is None:
        pytest.skip("no git: checkpoints need it")
    made = Gateway(tmp_path_factory.mktemp("panel"))
    made.configure(SCRIPT, files=True, checkpoints=True)
    config = made.home / "config.yaml"
    settings = json.loads(config.read_text())
    settings["paths"] = {"allowed_roots": [str(project)]}
    config.write_text(json.dumps(settings))
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def logins() -> dict[str, Any]:
    return {}


@pytest.mark.slow
def test_files_of_a_chosen_folder_are_shown_compared_and_uploaded(
    window: New, gateway: Gateway, project: Path
) -> None:
    one = window().open()
    folder = one.page.get_by_role("combobox", name="Folder")
    folder.select_option(str(project))
    one.say("write it")
    one.settled()
    assert (project / "report.md").is_file()

    # A file that the agent wrote opens from the answer.
    one.page.get_by_role("list", name="Files written").get_by_text("report.md").click()
    panel = one.page.get_by_role("region", name="Files")
    panel.get_by_role("heading", name="Sales").wait_for()
    assert panel.locator(".preview script").count() == 0
    assert "alert(1)" in panel.inner_text()
    panel.get_by_role("button", name="All files").click()

    panel.get_by_role("heading", name="Changed in this chat").wait_for()
    changed = panel.locator(".tree").first
    assert sorted(changed.locator(".tree-name").all_inner_texts()) == sorted(FILES)
    assert (
        changed.get_by_role("listitem")
        .filter(has_text="notes.txt")
        .inner_text()
        .endswith("Changed")
    )
    changed.get_by_text("data/sales.csv").click()
    panel.get_by_role("cell", name="West, new").wait_for()
    panel.get_by_role("button", name="All files").click()

    changed.get_by_text("notes.txt").click()
    panel.get_by_role("button", name="Changes").click()
    panel.locator(".diff .del").wait_for()
    assert panel.locator(".diff .del").inner_text() == "- old line"
    assert panel.locator(".diff .add").inner_text() == "+ new line"
    panel.get_by_role("button", name="All files").click()

    changed.get_by_text("board.html").click()
    frame = panel.frame_locator("iframe")
    frame.get_by_role("heading", name="Board").wait_for()
    colour = frame.locator("h1").evaluate("one => getComputedStyle(one).color")
    assert colour == "rgb(1, 2, 3)"
    blocked = [fault for fault in one.faults if "Blocked script execution" in fault]
    assert blocked
    one.faults[:] = [fault for fault in one.faults if fault not in blocked]
    panel.get_by_role("button", name="All files").click()

    # Dropped files go into the folder, not into the message; replacing one asks first.
    one.page.evaluate(DROP, ["up.txt", "first"])
    panel.locator("[data-path='up.txt']").wait_for()
    assert (project / "up.txt").read_text() == "first"
    assert one.page.locator(".composer .chip").count() == 0
    one.page.evaluate(DROP, ["up.txt", "second"])
    one.page.get_by_text("up.txt exists already. Replace it?").wait_for()
    assert (project / "up.txt").read_text() == "first"
    one.button("Replace").click()
    one.page.get_by_role("dialog").wait_for(state="detached")
    for _ in range(50):
        if (project / "up.txt").read_text() == "second":
            break
        one.page.wait_for_timeout(100)
    assert (project / "up.txt").read_text() == "second"
    one.page.keyboard.press("Escape")
    panel.wait_for(state="detached")


@pytest.mark.slow
def test_settings_fold_on_a_phone(window: New, gateway: Gateway, project: Path) -> None:
    one = window(360, 640, has_touch=True).open()
    one.button("Settings of this chat").click()
    folder = one.page.get_by_role("combobox", name="Folder")
    folder.select_option(str(project))
    one.page.mouse.click(180, 100)
    folder.wait_for(state="hidden")
    tools = one.page.locator(".composer .tools").bounding_box()
    assert tools is not None
    assert tools["height"] < 60  # one row
    assert tools["x"] + tools["width"] <= 360


@pytest.mark.slow
def test_operator_types_the_path_of_a_folder(window: New, gateway: Gateway) -> None:
    typed = gateway.folder / "typed"  # below the home folder of the account
    typed.mkdir()
    one = window().open()
    folder = one.page.get_by_role("combobox", name="Folder")
    folder.select_option("Another folder …")
    dialog = one.page.get_by_role("dialog", name="Another folder")
    path = dialog.get_by_label("Path of the folder")
    for named, why in (
        ("none", "Write the whole path"),
        ("~/none", "does not exist"),
        ("/etc", "belongs to the system"),
        (str(gateway.home), "holds Hookline's own files"),
    ):
        path.fill(named)
        path.press("Enter")
        dialog.get_by_text(why).wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert folder.input_value() == ""
    folder.select_option("Another folder …")
    path.fill("~/typed")
    path.press("Enter")
    dialog.wait_for(state="detached")
    one.say("write it")
    one.settled()
    assert (typed / "report.md").is_file()
    one.page.reload()
    one.settled()
    assert folder.input_value() == str(typed)

    member = window(name="mia").open()
    member.page.get_by_title("Folder: ").wait_for()
    assert member.page.get_by_role("combobox", name="Folder").count() == 0


@pytest.mark.slow
def test_files_that_a_program_wrote_are_below_its_answer(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    one.say("run it")
    one.settled(2)
    for _ in range(2):
        written = one.page.get_by_role("list", name="Files written")
        written.get_by_text("made/10.txt").wait_for()
        assert written.count() == 1  # the turn before wrote nothing
        written.get_by_text("4 more files").click()
        one.page.get_by_role("region", name="Files").get_by_text("made/21.txt").wait_for()
        one.page.reload()
    written.get_by_text("made/10.txt").click()
    one.page.get_by_role("region", name="Files").get_by_text("10", exact=True).wait_for()
