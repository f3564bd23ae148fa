"""Provider-neutral messages and the blocks they consist of.

A message is what the model reads or says. Roles are ``user`` and ``assistant``; the results of
tool calls are blocks of a ``user`` message, one for each call of the preceding assistant message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

from .frozen import freeze_fields
from .origins import Origin, merge_origins, origins_from_json, origins_to_json
from .sinks import Handle

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What a server attached to a block and expects back unchanged, such as a signature.

    Only the model that made it accepts it: ``model`` is ``provider/model``. ``data`` is JSON whose
    meaning only the provider knows.
    """

    model: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze_fields(self, "data")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain text. ``origins`` say where it came from; empty if the agent itself wrote it."""

    text: str
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    state: ProviderState | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image: ``mime``, such as ``image/png``, and ``data`` in base64 (ASCII).

    ``origins`` say where it came from: whoever makes the block knows.
    """

    mime: str
    data: str
    origins: tuple[Origin, ...] = field(kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """A model's reasoning, kept because providers require it to be sent back unchanged.

    ``signature`` is the provider's signature of ``text``; ``redacted`` is opaque data in place of
    text. ``state`` names the model whose reasoning this is; None if it is not known.
    """

    text: str
    signature: str | None = None
    redacted: str | None = None
    state: ProviderState | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call requested by the model.

    ``arguments`` is always a dict, frozen at every depth: ``copy.deepcopy`` returns a mutable one.
    ``error`` is a sentence if what the model sent could not be parsed (not JSON, an empty tool
    name); such a call is answered with it and not run.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    error: str | None = None
    state: ProviderState | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        freeze_fields(self, "arguments")


@dataclass(frozen=True, slots=True)
class ToolResultBlock:
    """The result of the tool call ``call_id`` as the model reads it."""

    call_id: str
    text: str
    ok: bool = True
    images: tuple[ImageBlock, ...] = ()
    origins: tuple[Origin, ...] = field(default=(), compare=False)
    handles: tuple[Handle, ...] = field(default=(), compare=False)
    """What the ids in ``text`` stand for; no model sees them."""


Block: TypeAlias = TextBlock | ImageBlock | ThinkingBlock | ToolCall | ToolResultBlock


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    ``context`` is the turn's sidecar: the rendered ``<context>`` element that is sent after the
    blocks of a user message. It is stored next to the message, never in it, and is not part of
    search or export. ``carried`` are the origins of that context, and of the messages that this one
    replaces.
    """

    role: Role
    blocks: tuple[Block, ...]
    context: str = ""
    carried: tuple[Origin, ...] = field(default=(), compare=False)
    wire: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """A provider's own cache of this message in its encoding. Never stored."""

    @property
    def text(self) -> str:
        """The text blocks, joined by blank lines."""
        return "\n\n".join(b.text for b in self.blocks if isinstance(b, TextBlock))

    @property
    def speaker(self) -> Literal["user", "assistant", "tool"]:
        """The author: a message with the role ``user`` that holds tool results is from ``tool``."""
        if self.role == "assistant":
            return "assistant"
        return "tool" if any(isinstance(b, ToolResultBlock) for b in self.blocks) else "user"

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in this message, in order."""
        return tuple(b for b in self.blocks if isinstance(b, ToolCall))

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Where the blocks came from, and what is :attr:`carried`."""
        return merge_origins(
            self.carried, *[getattr(block, "origins", ()) for block in self.blocks]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return this message as JSON-serializable data, without its sidecar."""
        data = {"role": self.role, "blocks": [_block_to_dict(b) for b in self.blocks]}
        return data | ({"carried": origins_to_json(self.carried)} if self.carried else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], context: str = "") -> Message:
        """Create a message from the data that :meth:`to_dict` returned.

        Raises:
            ValueError: the data contains a block type that this version does not know.
        """
        carried = origins_from_json(data.get("carried"))
        return cls(
            data["role"], tuple(_block_from_dict(b) for b in data["blocks"]), context, carried
        )

    @classmethod
    def user(cls, text: str, context: str = "") -> Message:
        """Create a user message of one text block."""
        return cls("user", (TextBlock(text),), context)

    @classmethod
    def assistant(cls, text: str) -> Message:
        """Create an assistant message of one text block."""
        return cls("assistant", (TextBlock(text),))


_BLOCKS: dict[str, type[Block]] = {
    "text": TextBlock,
    "image": ImageBlock,
    "thinking": ThinkingBlock,
    "tool_call": ToolCall,
    "tool_result": ToolResultBlock,
}
_TYPES = {kind: name for name, kind in _BLOCKS.items()}


def _block_to_dict(block: Block) -> dict[str, Any]:
    """Return the block's type and its fields, omitting those that are None and empty origins."""
    data = {one.name: getattr(block, one.name) for one in fields(block)}
    if "origins" in data:
        data["origins"] = origins_to_json(data["origins"]) or None
    if data.get("state") is not None:
        data["state"] = {"model": data["state"].model, "data": data["state"].data}
    if isinstance(block, ToolResultBlock):
        data["images"] = [
            {"mime": image.mime, "data": image.data} for image in block.images
        ] or None
        data["handles"] = [handle.to_json() for handle in block.handles] or None
    present = {name: value for name, value in data.items() if value is not None}
    return {"type": _TYPES[type(block)], **present}


def _block_from_dict(data: Mapping[str, Any]) -> Block:
    """Create the block that was stored, ignoring fields of a newer version."""
    if data["type"] not in _BLOCKS:
        raise ValueError(f"a stored message holds a block of the unknown type {data['type']!r}")
    kind = _BLOCKS[data["type"]]
    known = {one.name: data[one.name] for one in fields(kind) if one.name in data}
    if "origins" in known:
        known["origins"] = origins_from_json(known["origins"])
    elif kind is ImageBlock:
        known["origins"] = (Origin("outside", "an image"),)
    if "state" in known:
        known["state"] = ProviderState(**known["state"])
    if "images" in known:
        # Those of a result are those of the result.
        known["images"] = tuple(
            ImageBlock(**image, origins=known.get("origins", ())) for image in known["images"]
        )
    if "handles" in known:
        known["handles"] = tuple(map(Handle.from_json, known["handles"]))
    return kind(**known)
