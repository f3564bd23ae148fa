"""Numbers of system calls and filters, for machine types other than this one too."""

from __future__ import annotations

import platform
import re
import struct
from pathlib import Path

import pytest
from hookline_sandbox.inside import filters
from hookline_sandbox.inside.system_calls import ARCHITECTURES, SYSTEM_CALLS

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
REFUSED, ALLOWED, NOTIFIED, KILLED = 0x0005_0001, 0x7FFF_0000, 0x7FC0_0000, 0x8000_0000
MACHINES = pytest.mark.parametrize("machine", SYSTEM_CALLS)


@MACHINES
def test_numbers_are_those_of_the_kernels_headers(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} (linux-libc-dev) is not installed")
    text = HEADERS[machine].read_text()
    known = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text))
    assert {name: int(known[name]) for name in SYSTEM_CALLS[machine]} == SYSTEM_CALLS[machine]


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What a filter says of a call: classic BPF, with the instructions that filters use."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *[*arguments, *[0] * 6][:6])
    lines = [*struct.iter_unpack("=HBBI", program)]
    loaded = at = 0
    while True:
        code, true, false, value = lines[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            loaded &= value
        else:
            found = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}
            at += true if found[code] else false


@MACHINES
def test_supervised_filter_decides_by_the_machines_numbers(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    program, calls, here = (
        filters.supervised_sockets(),
        SYSTEM_CALLS[machine],
        ARCHITECTURES[machine],
    )
    for name in ("connect", "bind", "listen"):
        assert verdict(program, here, calls[name]) == NOTIFIED
    for name in ("ptrace", "mount", "bpf", "setns", "keyctl"):
        assert verdict(program, here, calls[name]) == REFUSED
    tcp, udp, raw = (2, 1, 0), (2, 2, 0), (2, 3, 0)
    assert verdict(program, here, calls["socket"], *tcp) == ALLOWED
    assert verdict(program, here, calls["socket"], *udp) == REFUSED
    assert verdict(program, here, calls["socket"], *raw) == REFUSED
    fast_open = 0x2000_0000
    assert verdict(program, here, calls["sendto"], 3, 0, 0, fast_open) == REFUSED
    assert verdict(program, here, calls["sendto"], 3, 0, 0, 0) == ALLOWED
    for other in {*ARCHITECTURES.values()} - {here}:
        assert verdict(program, other, calls["connect"]) == KILLED


@MACHINES
def test_filters_without_supervision_refuse_sockets(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    calls, here = SYSTEM_CALLS[machine], ARCHITECTURES[machine]
    assert verdict(filters.no_sockets(), here, calls["socket"], 2, 1) == REFUSED
    assert verdict(filters.held_sockets(), here, calls["socket"], 2, 2) == ALLOWED
    assert verdict(filters.held_sockets(), here, calls["socket"], 40, 1) == REFUSED  # vsock


def test_unknown_machine_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="riscv64"):
        filters.supervised_sockets()
