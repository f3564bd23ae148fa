"""What is said where users may not create namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from hookline_sandbox.namespace_limits import how_to_permit_namespaces


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "bwrap-userns-restrict"),
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n", "users of this machine"),
        ("proc/sys/kernel/unprivileged_userns_clone", "0\n", "unprivileged_userns_clone=1"),
        ("proc/sys/user/max_user_namespaces", "0\n", "max_user_namespaces="),
        (".dockerenv", "", "--security-opt seccomp="),
    ],
)
def test_fix_names_what_refuses_namespaces(
    tmp_path: Path, file: str, content: str, named: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content)
    assert named in how_to_permit_namespaces(tmp_path)
