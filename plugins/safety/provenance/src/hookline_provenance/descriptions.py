"""What stands in the descriptions of tools that others have written, such as an MCP server's.

The model reads them in every conversation that offers the tool, also where it has read nothing else
from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from hookline_hookspecs import Origin, Tool, ToolCall

from .taint import is_trusted
from .values import Value, find_values


class Descriptions:
    """Finds the addresses, links and account numbers of a call in tools' descriptions."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Tool, frozenset[Value]] = WeakKeyDictionary()

    def matching(self, tools: Iterable[Tool], call: ToolCall) -> Sequence[Tool]:
        """The tools in whose descriptions a value of the call stands."""
        described = [(tool, values) for tool in tools if (values := self._values(tool))]
        if not described:
            return ()
        found = find_values("\n".join(_texts(call.arguments)))
        return [tool for tool, values in described if values & found]

    @staticmethod
    def origins(tools: Iterable[Tool], trusted: Collection[str]) -> Sequence[Origin]:
        """The descriptions of these tools as origins, without those of trusted tools."""
        return [
            Origin("outside", f"the description of tool {tool.name}")
            for tool in tools
            if not any(is_trusted(one, trusted) for one in tool.origins)
        ]

    def _values(self, tool: Tool) -> frozenset[Value]:
        known = self._known.get(tool)
        if known is None:
            known = frozenset(find_values(_text(tool)) if _is_outside(tool) else ())
            self._known[tool] = known
        return known


def _texts(value: object) -> Iterator[str]:
    """The keys and values of nested arguments, as texts."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    else:
        yield str(value)


def _is_outside(tool: Tool) -> bool:
    return any(one.kind == "outside" for one in tool.origins)


def _text(tool: Tool) -> str:
    return f"{tool.description}\n{tool.schema.parameters}"
