"""The frames of Feishu's long connection, as its protobuf schema has them.

Written out by hand, so that the fake does not read and write them with the library that it tests.
A frame holds ``SeqID`` 1, ``LogID`` 2, ``service`` 3, ``method`` 4 (0 control, 1 data), headers 5
(``key`` 1, ``value`` 2) and ``payload`` 8; the first four are required.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CONTROL, DATA = 0, 1


@dataclass(slots=True)
class Frame:
    """One frame; ``headers`` as pairs, because a key may come twice."""

    method: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    payload: bytes = b""
    service: int = 1
    seq: int = 0
    log: int = 0

    def header(self, key: str) -> str:
        """The first header of that key; empty without one."""
        return next((value for name, value in self.headers if name == key), "")


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    out = b"".join(
        _varint(number << 3) + _varint(value)
        for number, value in enumerate((frame.seq, frame.log, frame.service, frame.method), 1)
    )
    for key, value in frame.headers:
        out += _part(5, _part(1, key.encode()) + _part(2, value.encode()))
    return out + _part(8, frame.payload)


def decode(data: bytes) -> Frame:
    """A frame. Raises ``ValueError`` where a required field is missing or bytes are left."""
    numbers: dict[int, int] = {}
    headers: list[tuple[str, str]] = []
    payload = b""
    for number, value in _fields(data):
        if isinstance(value, int):
            numbers[number] = value
        elif number == 5:
            pair = {one: part for one, part in _fields(value) if isinstance(part, bytes)}
            headers.append((pair[1].decode(), pair[2].decode()))
        elif number == 8:
            payload = value
    if missing := {1, 2, 3, 4} - set(numbers):
        raise ValueError(f"a frame without its required fields {sorted(missing)}")
    return Frame(numbers[4], headers, payload, numbers[3], numbers[1], numbers[2])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _part(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    found: list[tuple[int, int | bytes]] = []
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            found.append((key >> 3, varint()))
        elif key & 7 == 2:
            size = varint()
            if at + size > len(data):
                raise ValueError("a frame that is cut off")
            found.append((key >> 3, data[at : at + size]))
            at += size
        else:
            raise ValueError(f"wire type {key & 7} is not used")
    return found
