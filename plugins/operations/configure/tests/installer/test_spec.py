"""Which SPEC is accepted, and what of it is shown and recorded."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hookline_installer.errors import InstallerError
from hookline_installer.spec import mask_passwords, parse, parse_editable
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(max_size=20), st.sampled_from(["-", "--", " -", "\t--"]))
def test_spec_starting_with_dash_is_refused(tail: str, head: str) -> None:
    for judge in (parse, parse_editable):
        with pytest.raises(InstallerError) as refused:
            judge(head + tail, Path("/"))
        assert refused.value.code == 2


@given(st.text(max_size=40))
def test_accepted_spec_is_one_line_and_no_option(text: str) -> None:
    with contextlib.suppress(InstallerError):
        found = parse(text, Path("/nowhere"))
        assert not found.text.startswith("-")
        assert found.text.isprintable()


TAKEN = {
    "hookline-x": "hookline-x",
    "Hookline_X==1.2": "hookline-x",
    "hookline-x[extra]>=1; python_version > '3'": "hookline-x",
    "hookline-x @ git+https://host.example/x.git": "hookline-x",
    "git+https://host.example/x.git@v1#egg=x": None,
    "https://host.example/hookline_x-1.2-py3-none-any.whl": "hookline-x",
}


@pytest.mark.parametrize("text", TAKEN)
def test_names_and_urls_are_kept_unchanged(text: str) -> None:
    found = parse(text, Path("/"))
    assert (found.text, found.name, found.path) == (text, TAKEN[text], None)


def test_paths_become_absolute(tmp_path: Path) -> None:
    folder = tmp_path / "my plugin"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'Hookline.X'\n")
    wheel = tmp_path / "hookline_y-1.0-py3-none-any.whl"
    wheel.touch()
    here = parse("./my plugin[more]", tmp_path)
    assert (here.text, here.name, here.extras) == (f"{folder}[more]", "hookline-x", ("more",))
    assert parse(".", folder).path == folder
    assert parse(wheel.name, tmp_path).text == str(wheel)
    assert parse(wheel.as_uri(), Path("/")).path == wheel
    edited = parse_editable("my plugin", tmp_path)
    assert edited.arguments == ["--editable", str(folder)]


REFUSED = [
    *("", " ", "a b", "x==", "hookline-x\n--index-url=y", "\0", "./nothing", "nothing.whl"),
    *(".", "file:///nowhere", "./file.txt", "x[", "x; nonsense"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_spec_gets_an_error_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").touch()
    with pytest.raises(InstallerError) as refused:
        parse(text, tmp_path)
    assert refused.value.code == 2
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["git+https://host.example/x", "./file.txt", "nothing"])
def test_editable_spec_must_be_a_folder(text: str, tmp_path: Path) -> None:
    (tmp_path / "file.txt").touch()
    with pytest.raises(InstallerError):
        parse_editable(text, tmp_path)


SECRETS = {
    "git+https://ann:s3cret@host.example/x": "git+https://host.example/x",
    "git+https://s3cret@host.example/x": "git+https://host.example/x",
    "git+ssh://git:s3cret@host.example/x": "git+ssh://git@host.example/x",
    "git+ssh://git@host.example/x": "git+ssh://git@host.example/x",
    "x @ https://s3cret:@host.example/x-1.zip": "x @ https://host.example/x-1.zip",
}


@pytest.mark.parametrize("text", SECRETS)
def test_spec_password_is_neither_shown_nor_recorded(text: str) -> None:
    found = parse(text, Path("/"))
    assert found.recorded == SECRETS[text]
    assert "s3cret" not in found.shown
    assert "s3cret" not in mask_passwords(f"fatal: could not read {text}: 404")


def test_only_plain_names_are_pinned() -> None:
    pinned = parse("hookline-x[a]>=1; python_version > '3'", Path("/")).pinned("1.2+local")
    assert pinned.text == 'hookline-x[a]==1.2+local; python_version > "3"'
    address = parse("hookline-x @ git+https://host.example/x", Path("/"))
    assert address.pinned("1.2") == address
