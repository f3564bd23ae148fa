"""Numbers of system calls by machine type, for filters and supervision.

Sources: Linux 6.12, arch/x86/entry/syscalls/syscall_64.tbl and, for aarch64,
include/uapi/asm-generic/unistd.h; include/uapi/linux/audit.h for the architectures.
"""

import platform

ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
"""Values of ``AUDIT_ARCH_*``."""
_NAMES = (
    *("socket", "socketpair", "connect", "bind", "listen", "sendto", "sendmsg", "sendmmsg"),
    *("ioctl", "ptrace", "process_vm_readv", "process_vm_writev", "bpf", "userfaultfd"),
    *("perf_event_open", "keyctl", "add_key", "request_key", "mount", "unshare", "setns"),
    "seccomp",
)
_NUMBERS = {
    "x86_64": (
        *(41, 53, 42, 49, 50, 44, 46, 307),
        *(16, 101, 310, 311, 321, 323),
        *(298, 250, 248, 249, 165, 272, 308),
        317,
    ),
    "aarch64": (
        *(198, 199, 203, 200, 201, 206, 211, 269),
        *(29, 117, 270, 271, 280, 282),
        *(241, 219, 217, 218, 40, 97, 268),
        277,
    ),
}
SYSTEM_CALLS = {
    machine: dict(zip(_NAMES, numbers, strict=True)) for machine, numbers in _NUMBERS.items()
}
"""The number of each call by its name, for each machine type."""


def system_calls() -> dict[str, int]:
    """Return the numbers for this machine. Raises ``OSError`` if they are not known."""
    found = SYSTEM_CALLS.get(platform.machine())
    if found is None:
        raise OSError(f"no system call filter is known for {platform.machine()}")
    return found


def architecture() -> int:
    """Return the architecture of this machine, as filters see it. Raises ``OSError``."""
    system_calls()
    return ARCHITECTURES[platform.machine()]
