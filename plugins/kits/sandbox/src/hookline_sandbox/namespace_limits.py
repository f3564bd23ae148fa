"""Finds what keeps users of this machine from creating namespaces, and says how to permit it."""

from __future__ import annotations

from pathlib import Path

APPARMOR_PROFILE = "bwrap-userns-restrict"
"""Ubuntu's AppArmor profile for bubblewrap, in the package apparmor-profiles."""
_EXTRA_PROFILES = "/usr/share/apparmor/extra-profiles"


def how_to_permit_namespaces(root: Path = Path("/")) -> str:
    """Return what to do, as an instruction without a full stop."""
    if _read(root, "proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            f"permit bubblewrap to create user namespaces by the AppArmor profile "
            f"{APPARMOR_PROFILE} (Ubuntu 23.10 and newer: `apt install bubblewrap "
            f"apparmor-profiles`, `ln -s {_EXTRA_PROFILES}/{APPARMOR_PROFILE} /etc/apparmor.d/`, "
            f"`apparmor_parser -r /etc/apparmor.d/{APPARMOR_PROFILE}`)"
        )
    if _read(root, "proc/sys/kernel/unprivileged_userns_clone") == "0":
        return "permit user namespaces with `sysctl kernel.unprivileged_userns_clone=1`"
    if _read(root, "proc/sys/user/max_user_namespaces") == "0":
        return "permit user namespaces with `sysctl user.max_user_namespaces=10000`"
    if any((root / name).exists() for name in (".dockerenv", "run/.containerenv")):
        return (
            "run this container with seccomp and AppArmor profiles that permit user namespaces "
            "(userns): `--security-opt seccomp=FILE --security-opt apparmor=NAME`"
        )
    return "permit users of this machine to create user namespaces (userns) and to mount in them"


def _read(root: Path, name: str) -> str:
    try:
        return (root / name).read_text().strip()
    except OSError:
        return ""
