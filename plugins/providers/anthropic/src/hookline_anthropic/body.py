"""The request body: fields first, then tools, system and messages, joined without re-encoding."""

from __future__ import annotations

from hookline_hookspecs import WireRequest

from .encode import to_json
from .markers import part, place_markers

_OWN_PARTS = ("tools", "system", "messages")


def join_body(wire: WireRequest) -> bytes:
    """The bytes of ``POST /v1/messages`` for a rendered request.

    A list of text blocks in ``fields["system"]`` follows the stable system prompt.
    """
    inserts: dict[int, list[tuple[int, bytes]]] = {}
    for (number, block), text in place_markers(wire).items():
        inserts.setdefault(number, []).append((block, text))
    parts = [part(wire, 0), part(wire, 1), *wire.fragments]
    for number, marks in inserts.items():
        parts[number] = _with_markers(parts[number], marks)
    fields = to_json({k: v for k, v in wire.fields.items() if k not in _OWN_PARTS})
    joined = [fields[:-1]]
    if len(parts[0]) > len(b"[]"):
        joined += [b',"tools":', parts[0]]
    system = _system(parts[1], wire)
    if system:
        joined += [b',"system":', system]
    joined += [b',"messages":[', b",".join(parts[2:]), b"]}"]
    return b"".join(joined)


def _system(stable: bytes, wire: WireRequest) -> bytes:
    added = wire.fields.get("system")
    lists = [stable, to_json(added) if added else b""]
    blocks = b",".join(part[1:-1] for part in lists if len(part) > len(b"[]"))
    return b"[%s]" % blocks if blocks else b""


def _with_markers(data: bytes, inserts: list[tuple[int, bytes]]) -> bytes:
    cuts: tuple[int, ...] = getattr(data, "cuts", ())
    for block, text in sorted(inserts, reverse=True):
        data = data[: cuts[block]] + text + data[cuts[block] :]
    return data
