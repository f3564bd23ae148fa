"""Installing from folders, archives and git, and refusals."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import stat
import struct
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline_hookspecs import HooklineError
from hookline_skills import lockfile
from hookline_skills.installer import InstallRequest, SkillInstaller
from hypothesis import given
from hypothesis import strategies as st

from .conftest import POISON, Bench, skill_text

TEXT = skill_text("tidy-up", "Tidies up the desk.", "1. Sort.")
FILES = {"SKILL.md": TEXT.encode(), "scripts/run.sh": b"#!/bin/sh\ntouch ran\n"}


def install(bench: Bench, source: object, *names: str, **options: Any) -> list[str]:
    """Install as ``hookline skills install`` does."""
    skills = bench.skills
    skills.library.root.mkdir(parents=True, exist_ok=True)
    installer = SkillInstaller(skills.host, skills.library, skills.history, skills.editor)
    return bench.harness.run(installer.install(InstallRequest(str(source), names, **options)))


def refused(bench: Bench, source: object, *names: str, **options: Any) -> str:
    """The sentence that refuses a source; nothing is left of it."""
    before = {str(path) for path in bench.root.rglob("*")} if bench.root.exists() else set()
    with pytest.raises(HooklineError) as error:
        install(bench, source, *names, **options)
    after = {str(path) for path in bench.root.rglob("*")}
    assert {one for one in after - before if not one.endswith(".quarantine")} == set()
    return str(error.value)


def folder(tmp_path: Path, files: dict[str, bytes] = FILES, name: str = "source") -> Path:
    """A folder with some files."""
    for path, data in files.items():
        file = tmp_path / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return tmp_path / name


def tar(tmp_path: Path, *members: tuple[tarfile.TarInfo | str, bytes]) -> Path:
    """A tar archive; a member is a name, or all that a tar can say of one."""
    file = tmp_path / "source.tar"
    with tarfile.open(file, "w") as archive:
        for member, data in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file


def zipped(tmp_path: Path, files: dict[str, bytes] = FILES, top: str = "") -> Path:
    """A zip archive."""
    file = tmp_path / "source.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(top + path, data)
    return file


def test_skill_is_installed_from_a_folder(bench: Bench, tmp_path: Path) -> None:
    source = folder(tmp_path, {**FILES, ".git/config": b"x", "__pycache__/x.pyc": b"\0"})
    (source / "scripts" / "run.sh").chmod(0o755)
    assert install(bench, source) == ["tidy-up"]
    there = {str(p.relative_to(bench.root)) for p in bench.root.rglob("*") if p.is_file()}
    assert there == {"tidy-up/SKILL.md", "tidy-up/scripts/run.sh", ".lock.json"}
    assert not (bench.root / "tidy-up" / "scripts" / "run.sh").stat().st_mode & stat.S_IXUSR
    assert not list(tmp_path.rglob("ran"))
    assert "1. Sort." in bench.view("tidy-up").text
    assert bench.manage("delete", "tidy-up").text.startswith("Denied: ")


@pytest.mark.parametrize("compress", [None, gzip.compress, bz2.compress, lzma.compress])
def test_skill_is_installed_from_a_tar(
    bench: Bench, tmp_path: Path, compress: Callable[[bytes], bytes] | None
) -> None:
    file = tar(tmp_path, *((f"top/{path}", data) for path, data in FILES.items()))
    if compress is not None:
        file.write_bytes(compress(file.read_bytes()))
    assert install(bench, file) == ["tidy-up"]
    assert bench.text("tidy-up") == TEXT


@pytest.mark.parametrize("top", ["", "tidy-up/", "a/b/"])
def test_skill_is_installed_from_a_zip(bench: Bench, tmp_path: Path, top: str) -> None:
    assert install(bench, zipped(tmp_path, top=top)) == ["tidy-up"]
    assert bench.text("tidy-up", "scripts/run.sh").startswith("#!/bin/sh")


BAD_NAMES = ["../evil", "/etc/evil", "a/../../evil", "~/evil", "C:/evil", "a\\..\\evil", "x\n/evil"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_archive_paths_that_lead_out_are_refused(bench: Bench, tmp_path: Path, name: str) -> None:
    archive = tar(tmp_path, ("SKILL.md", TEXT.encode()), (name, b"x"))
    assert "invalid path" in refused(bench, archive)
    reason = refused(bench, zipped(tmp_path, {**FILES, name: b"x"}))
    assert "invalid path" in reason or "not an allowed name" in reason
    assert not list(tmp_path.rglob("evil"))


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member of a tar that is no file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    "member",
    [
        special("link", tarfile.SYMTYPE, "/etc/passwd"),
        special("hard", tarfile.LNKTYPE, "SKILL.md"),
        special("device", tarfile.CHRTYPE),
        special("block", tarfile.BLKTYPE),
        special("pipe", tarfile.FIFOTYPE),
        special("sparse", tarfile.GNUTYPE_SPARSE),
    ],
    ids=lambda member: member.name,
)
def test_links_and_devices_in_a_tar_are_refused(
    bench: Bench, tmp_path: Path, member: tarfile.TarInfo
) -> None:
    refused(bench, tar(tmp_path, ("SKILL.md", TEXT.encode()), (member, b"")))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(bench: Bench, tmp_path: Path, kind: int) -> None:
    file = zipped(tmp_path)
    with zipfile.ZipFile(file, "a") as archive:
        info = zipfile.ZipInfo("odd")
        info.external_attr = (kind | 0o644) << 16
        archive.writestr(info, "/etc/passwd")
    assert "a link or a device" in refused(bench, file)


def test_links_and_pipes_in_a_folder_are_refused(bench: Bench, tmp_path: Path) -> None:
    source = folder(tmp_path)
    (source / "link").symlink_to("/etc/passwd")
    assert "link" in refused(bench, source)
    (source / "link").unlink()
    os.mkfifo(source / "pipe")
    assert "not a regular file" in refused(bench, source)


@pytest.mark.slow
def test_decompression_bombs_are_refused(bench: Bench, tmp_path: Path) -> None:
    zeros = b"\0" * 4_900_000
    many = {f"assets/{number}": zeros for number in range(12)}
    assert "larger than" in refused(bench, zipped(tmp_path, {**FILES, **many}))
    assert "larger than" in refused(bench, zipped(tmp_path, {**FILES, "big": zeros * 2}))
    for bomb in (
        gzip.compress(b"\0" * 60_000_000, 1),
        bz2.compress(b"\0" * 60_000_000, 1),
        lzma.compress(b"\0" * 60_000_000, preset=0),
    ):
        file = tmp_path / "bomb.tar.x"
        file.write_bytes(bomb)
        assert "more than 50,000,000 bytes" in refused(bench, file)
    names = {f"references/{number}": b"" for number in range(2_001)}
    assert "more than 2,000 files" in refused(bench, zipped(tmp_path, {**FILES, **names}))


def test_zip_with_a_false_directory_is_refused(bench: Bench, tmp_path: Path) -> None:
    data = bytearray(zipped(tmp_path).read_bytes())
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<I", data, at + 12, 50_000_000)
    lying = tmp_path / "lying.zip"
    lying.write_bytes(data)
    assert "lists more than" in refused(bench, lying)


def test_zip_with_false_sizes_is_refused(bench: Bench, tmp_path: Path) -> None:
    file = zipped(tmp_path, {"SKILL.md": TEXT.encode(), "big": b"\0" * 6_000_000})
    data = file.read_bytes().replace(struct.pack("<I", 6_000_000), struct.pack("<I", 10))
    lying = tmp_path / "lying.zip"
    lying.write_bytes(data)
    refused(bench, lying)


def test_names_equal_on_some_file_systems_are_refused(bench: Bench, tmp_path: Path) -> None:
    for other in ("skill.MD", "Scripts/run.sh"):
        assert "look the same" in refused(bench, zipped(tmp_path, {**FILES, other: b"x"}))


def test_file_that_is_no_archive_is_refused(bench: Bench, tmp_path: Path) -> None:
    for number, data in enumerate(
        (b"", b"PK", b"PK\x05\x06", b"\x1f\x8bxx", b"text", os.urandom(99))
    ):
        file = tmp_path / f"{number}.zip"
        file.write_bytes(data)
        refused(bench, file)
    assert "neither a folder nor an archive" in refused(bench, tmp_path / "missing")


@given(st.data())
def test_damaged_archives_are_refused_or_whole(
    bench: Bench, tmp_path: Path, data: st.DataObject
) -> None:
    good = data.draw(st.sampled_from([zipped, lambda p: tar(p, ("SKILL.md", TEXT.encode()))]))
    content = bytearray(good(tmp_path).read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    file = tmp_path / "damaged"
    file.write_bytes(content)
    try:
        install(bench, file, replace=True, lenient=True)
    except HooklineError:
        return
    assert {p.parent for p in bench.root.rglob("SKILL.md")} == {
        folder for folder in bench.root.iterdir() if not folder.name.startswith(".")
    }


def test_invalid_skill_is_installed_only_with_lenient(bench: Bench, tmp_path: Path) -> None:
    odd = TEXT.replace("---\n\n", "version: 2\n---\n\n").encode()
    source = folder(tmp_path, {"SKILL.md": odd})
    assert "Unexpected fields in frontmatter: version" in refused(bench, source)
    assert install(bench, source, lenient=True) == ["tidy-up"]
    name = folder(tmp_path, {"SKILL.md": skill_text("../x").encode()}, "other")
    assert "invalid characters" in refused(bench, name, lenient=True)


def test_poisoned_text_is_refused_in_any_file(bench: Bench, tmp_path: Path) -> None:
    for number, path in enumerate(("SKILL.md", "references/a.md", "scripts/run.sh")):
        poisoned = {**FILES, path: FILES.get(path, b"") + POISON.encode()}
        said = refused(bench, folder(tmp_path, poisoned, f"s{number}"))
        assert f"skills/tidy-up/{path} was refused: it tries to give orders" in said


def test_one_source_may_contain_several_skills(bench: Bench, tmp_path: Path) -> None:
    files = {f"skills/{n}/SKILL.md": skill_text(n).encode() for n in ("one", "two", "three")}
    source = folder(tmp_path, {**files, "README.md": b"x"})
    assert "choose from: one, three, two" in refused(bench, source)
    assert "has no skill four" in refused(bench, source, "one", "four")
    assert install(bench, source, "two", "one") == ["two", "one"]
    assert set(bench.skills.library.skills()) == {"one", "two"}


def test_bad_neighbours_do_not_block_a_named_skill(bench: Bench, tmp_path: Path) -> None:
    bad = {
        "binary/SKILL.md": b"\xff\xfe\x00",
        "empty/SKILL.md": b"no front matter",
        "other-name/SKILL.md": skill_text("Not A Name!").encode(),
    }
    source = folder(tmp_path, {**{f"tidy-up/{path}": data for path, data in FILES.items()}, **bad})
    assert install(bench, source, "tidy-up") == ["tidy-up"]
    assert "several skills" in refused(bench, source)
    assert "empty/SKILL.md cannot be used" in refused(bench, source, "empty")


@pytest.mark.parametrize("make", [folder, zipped])
def test_large_file_blocks_only_its_own_skill(
    bench: Bench, tmp_path: Path, make: Callable[..., Any]
) -> None:
    files = {f"skills/{n}/SKILL.md": skill_text(n).encode() for n in ("one", "two", "three")}
    large = {"skills/two/model.bin": b"x" * 5_000_001, "video.mp4": b"x" * 6_000_000}
    large["skills/three/SKILL.md"] = b"x" * 5_000_001
    source = make(tmp_path, {**files, **large})
    assert install(bench, source, "one") == ["one"]
    assert "skills/two/model.bin is larger than 5,000,000 bytes" in refused(bench, source, "two")
    assert "skills/three/SKILL.md is larger" in refused(bench, source, "three")
    other = tmp_path / "alone"
    other.mkdir()
    alone = make(other, {**FILES, "big.bin": b"x" * 5_000_001})
    assert "big.bin is larger than" in refused(bench, alone)
    assert "big.bin is larger than" in refused(bench, alone, "tidy-up")


@pytest.mark.long
def test_nested_folders_are_named(bench: Bench, hookline: Callable[..., Any]) -> None:
    bench.write("plain")
    bench.write("group/deploy")
    bench.harness.close()
    listed = hookline("skills", "list").stdout
    assert "group/deploy: cannot be used: skills are only loaded from" in listed
    assert "plain (" in listed


def test_existing_skill_is_replaced_only_with_replace(bench: Bench, tmp_path: Path) -> None:
    bench.write("tidy-up", "Mine.", "my own words")
    source = folder(tmp_path)
    assert "use --replace" in refused(bench, source)
    assert install(bench, source, replace=True) == ["tidy-up"]
    assert [v.action for v in bench.versions("tidy-up")] == ["found", "install"]
    look_alike = folder(tmp_path, {"SKILL.md": skill_text("tidyup").encode()}, "other")
    assert "looks like the skill 'tidy-up'" in refused(bench, look_alike)


@pytest.mark.slow
def test_changes_since_the_installation_are_reported(
    bench: Bench, tmp_path: Path, hookline: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    bench.harness.close()
    installed = hookline("skills", "install", str(folder(tmp_path)))
    assert (installed.returncode, installed.stdout) == (0, "Installed the skill tidy-up.\n")
    assert lockfile.describe_changes(bench.root, "tidy-up") == []
    (bench.root / "tidy-up" / "scripts" / "run.sh").write_text("rm -rf /")
    (bench.root / "tidy-up" / "new.md").write_text("x")
    rows = json.loads(hookline("skills", "list", "--json").stdout)
    assert rows[0]["origin"] == "installed"
    expected = ["scripts/run.sh was changed", "new.md was added"]
    assert sorted(rows[0]["changes"]) == sorted(expected)
    found = hookline("skills", "validate", str(bench.root / "tidy-up"), "--json")
    warnings = json.loads(found.stdout)["warnings"]
    assert "since it was installed, scripts/run.sh was changed" in warnings
    again = hookline("skills", "install", str(tmp_path / "source"))
    assert again.returncode == 1
    assert "changed since" in again.stderr


def test_damaged_lock_file_breaks_nothing(bench: Bench, tmp_path: Path) -> None:
    install(bench, folder(tmp_path))
    for text in ("", "[]", "{", '{"skills": 3}', '{"skills": {"tidy-up": {"no": 1}}}'):
        (bench.root / ".lock.json").write_text(text)
        assert lockfile.read(bench.root) == {}
        assert "1. Sort." in bench.view("tidy-up").text


@pytest.mark.parametrize(
    "url",
    [
        *("http://example.com/x.git", "git://example.com/x", "ssh://git@example.com/x"),
        *(
            "file:///etc",
            "ext::sh://x",
            "https://user:pass@example.com/x",
            "https://x@example.com/",
        ),
        *("https://127.0.0.1/x.git", "https://[::1]/x.git", "https://169.254.169.254/x"),
        *("https://example.com/x?y=1", "https:///x", "http://example.com/x.zip"),
        *("https://example.com/x#--upload-pack=touch ran", "https://127.0.0.1/x.zip"),
    ],
)
def test_unsafe_source_addresses_are_refused(bench: Bench, url: str) -> None:
    refused(bench, url)
