"""Tools: typed functions with a JSON schema and validated arguments.

:meth:`Tool.from_function` is the usual way; ``@tool`` on a plugin's method does the same.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from .errors import ToolError
from .messages import ToolCall
from .origins import Effect, EffectKind, Origin
from .requests import ToolSchema
from .sinks import Handle, Sink, sink_in

F = TypeVar("F", bound=Callable[..., Any])
TOOL_MARK = "hookline_tool"
CLOSE_NAME = 0.75
"""How similar the name of an argument is, from 0 to 1, that was probably meant."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class ToolOptions(TypedDict, total=False):
    """The optional properties of a tool."""

    read_only: bool
    """The tool changes nothing: its calls may run in parallel, and again after a crash."""
    paged: bool
    """The tool limits the size of its own result, which is not truncated."""
    cache_ttl: float | None
    """Seconds for which an equal call may be answered from the cache."""
    approval: str | None
    """A sentence that says why each call needs a person's approval."""
    main_only: bool
    """The tool is not offered to sub-agents and reviewers."""
    origin: Literal["outside", "workspace"] | None
    """Where results come from: ``outside`` if others can write them.

    By default ``workspace`` for a tool that is ``read_only`` and has no effects, else ``outside``.
    """
    effects: Callable[..., Sequence[Effect]] | Sequence[EffectKind] | None
    """What a call may do: kinds of effects, whose targets are the declared recipients and targets,
    or a function of the context and the call.

    Without it, a tool that is not ``read_only`` may do anything.
    """
    sinks: Mapping[str, Sink] | None
    """What the arguments decide, by name; by default read from the signature."""
    preview: Callable[..., Mapping[str, Handle]] | None
    """Returns what the ids in a call stand for, by argument, from the context and the call:
    ``{"id": Handle("standing order", "7", "rent", about="1,100 to Landlord")}``. They are judged,
    and shown to the person who approves the call."""
    hidden: Callable[..., Collection[str]] | None
    """Returns the optional arguments that a session which begins now is not offered."""
    deferred: bool
    """The model is not shown the schema; it calls the tool through a bridge of the same plugin."""
    bridge: bool
    """A call of this tool stands for a call of a deferred one.

    Its parameters are ``tool``, the name, and ``arguments``, an object. Core makes that call
    instead: hooks, approvals and the journal see the deferred tool, and ``run`` is never called.
    """


@dataclass(eq=False)
class Tool:
    """A tool the model can call.

    Attributes:
        name: a letter, then up to 63 letters, digits, ``_`` or ``-``; unique in a session.
        description: what the model reads.
        run: the function; ``def`` runs in a thread, ``async def`` on the event loop. It receives
            the arguments by name, and ``ctx`` if it has that parameter. It returns a string, a
            :class:`ToolOutput` or a JSON value; to fail, it raises :class:`ToolError`.
        parameters: JSON schema of the arguments; by default derived from the signature of ``run``.
        plugin: the plugin that registered it.

    The other attributes are those of :class:`ToolOptions`.
    """

    name: str
    description: str
    run: Callable[..., Any]
    _: KW_ONLY
    parameters: Mapping[str, Any] | None = None
    read_only: bool = False
    paged: bool = False
    cache_ttl: float | None = None
    approval: str | None = None
    main_only: bool = False
    origin: Literal["outside", "workspace"] | None = None
    effects: Callable[..., Sequence[Effect]] | Sequence[EffectKind] | None = None
    sinks: Mapping[str, Sink] | None = None
    preview: Callable[..., Mapping[str, Handle]] | None = None
    hidden: Callable[..., Collection[str]] | None = None
    deferred: bool = False
    bridge: bool = False
    plugin: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not a tool name: 1 to 64 letters, digits, _ or -, a letter first"
            )
        self.description = inspect.cleandoc(self.description)
        taken = inspect.signature(self.run).parameters
        if self.bridge and (self.deferred or not {"tool", "arguments"} <= taken.keys()):
            raise ValueError(
                f"{self.name!r} is a bridge: "
                "it takes `tool` and `arguments`, and is not deferred itself"
            )
        _check_kinds(self.name, self.effects, self.origin)
        self.wants_context = "ctx" in taken
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(self.run))

    @classmethod
    def from_function(
        cls, fn: Callable[..., Any], *, name: str | None = None, **options: Unpack[ToolOptions]
    ) -> Tool:
        """Create a tool from a function with typed parameters and a docstring.

        Lines ``name: text`` under ``Args:`` in the docstring describe the parameters.

        Raises:
            ValueError: the function has no docstring, a parameter cannot be passed by name, or an
                option does not exist.
        """
        doc = inspect.getdoc(fn)
        name = name or fn.__name__
        for option in options.keys() - ToolOptions.__annotations__.keys():
            near = difflib.get_close_matches(option, ToolOptions.__annotations__, 1)
            hint = f"did you mean {near[0]}?" if near else "see ToolOptions"
            raise ValueError(f"tool {name}: unknown option {option!r}; {hint}")
        if not doc:
            raise ValueError(f"tool {name!r} has no docstring, so the model would not know its use")
        for parameter in inspect.signature(fn).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise ValueError(f"tool {name!r}: parameter {parameter} cannot be given by name")
        return cls(name, _summary(doc), fn, **options)

    @cached_property
    def schema(self) -> ToolSchema:
        """The name, description and parameters as a model sees them."""
        parameters = (
            _compact(self._model.model_json_schema())
            if self.parameters is None
            else self.parameters
        )
        return ToolSchema(self.name, self.description, parameters)

    @property
    def offered_schema(self) -> ToolSchema:
        """The schema without the arguments that are hidden now, for a session that begins."""
        hidden = frozenset(self.hidden()) if self.hidden is not None else frozenset()
        if not hidden:
            return self.schema
        if hidden not in self._offered_schemas:
            parameters = dict(self.schema.parameters)
            known = parameters["properties"]
            parameters["properties"] = {
                name: part for name, part in known.items() if name not in hidden
            }
            self._offered_schemas[hidden] = replace(self.schema, parameters=parameters)
        return self._offered_schemas[hidden]

    @cached_property
    def _offered_schemas(self) -> dict[frozenset[str], ToolSchema]:
        return {}

    @cached_property
    def _model(self) -> type[BaseModel]:
        described = _described(inspect.getdoc(self.run) or "")
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(self.run, eval_str=True).parameters.values():
            if parameter.name in ("ctx", "self") or parameter.kind is parameter.VAR_KEYWORD:
                continue
            kind = Any if parameter.annotation is parameter.empty else parameter.annotation
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (
                kind,
                Field(default, description=described.get(parameter.name)),
            )
        return create_model(
            self.name, __config__=ConfigDict(extra="forbid", protected_namespaces=()), **fields
        )

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The value of each omitted argument, by name; None if its schema has no default."""
        if self.parameters is None:
            return {name: field.default for name, field in self._model.model_fields.items()}
        known = self.parameters.get("properties", {})
        return {
            name: part.get("default") for name, part in known.items() if isinstance(part, Mapping)
        }

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of a result that does not name its own."""
        harmless = self.read_only and self.effects is None
        kind = self.origin or ("workspace" if harmless else "outside")
        return (Origin(kind, f"tool {self.name}"),)

    @cached_property
    def argument_sinks(self) -> Mapping[str, Sink]:
        """What the arguments decide, by name, from ``sinks`` or the signature of ``run``."""
        if self.sinks is not None:
            return self.sinks
        if self.parameters is not None:
            return {}
        signature = inspect.signature(self.run, eval_str=True)
        found = {one.name: sink_in(one.annotation) for one in signature.parameters.values()}
        return {name: sink for name, sink in found.items() if sink is not None}

    def declared_effects(self, ctx: Any, call: ToolCall) -> tuple[Effect, ...]:
        """What a call may do, as declared; ``unknown`` for a writing tool without effects.

        ``ctx`` is the context of the tool's plugin.
        """
        if self.effects is None:
            return () if self.read_only else (Effect("unknown"),)
        if callable(self.effects):
            return tuple(self.effects(ctx, call))
        deciding = [
            str(value)
            for name, sink in self.argument_sinks.items()
            if sink.kind in ("recipient", "target")
            and isinstance(value := call.arguments.get(name), str | int)
        ]
        return tuple(Effect(kind, deciding[0] if deciding else "") for kind in self.effects)

    def ignorable_arguments(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """Return the arguments that count as left out, each with a note for the model.

        These are null for an optional argument that cannot be null, without a note, and, if the
        tool only reads or the value is empty, arguments that the tool does not have. One that looks
        like a misspelt name is an error of :meth:`check` instead.
        """
        known = self.schema.parameters.get("properties")
        if not isinstance(known, Mapping):
            return {}
        required = self.schema.parameters.get("required", ())
        ignored: dict[str, str] = {}
        for name, value in arguments.items():
            if name in known:
                if value is None and name not in required and not self._takes_null(name):
                    ignored[name] = ""
            elif (
                self.parameters is None
                and (self.read_only or not value)
                and not self._is_misspelt(name, arguments, known, required)
            ):
                ignored[name] = f"{self.name} has no argument {name!r}; it was ignored."
        return ignored

    @staticmethod
    def _is_misspelt(
        name: str, given: Mapping[str, Any], known: Mapping[str, Any], required: Collection[str]
    ) -> bool:
        """Return whether an unknown argument is probably one of the ``known`` that is missing.

        Of a required one, a name is enough that is a little like it (``file_path``).
        """
        missing = [one for one in known if one not in given]
        needed = [one for one in missing if one in required]
        return bool(
            difflib.get_close_matches(name, missing, 1, CLOSE_NAME)
            or difflib.get_close_matches(name, needed, 1)
        )

    def _takes_null(self, name: str) -> bool:
        """Return whether an argument can be null and None differs from leaving it out."""
        if self.parameters is None:
            return self._model.model_fields[name].default is None
        schema = self.parameters["properties"][name]
        if not isinstance(schema, Mapping):
            return True
        options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
        kinds = [one.get("type") for one in (schema, *options) if isinstance(one, Mapping)]
        return not any(kinds) or any("null" in (kind or ()) for kind in kinds)

    def check(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Validate the arguments and return them, converted to their types.

        Raises:
            ToolError: an argument is missing, unknown or of the wrong type; the text names it.
        """
        if self.parameters is not None:
            for name in self.parameters.get("required", ()):
                if name not in arguments:
                    raise ToolError(f"{self.name} needs the argument {name!r}")
            return dict(arguments)
        try:
            model = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            raise ToolError(self._argument_errors(error)) from None
        return {
            name: getattr(model, name)
            for name in self._model.model_fields
            if name in model.model_fields_set
        }

    def _argument_errors(self, error: ValidationError) -> str:
        known, sentences = self._model.model_fields, []
        for detail in error.errors(include_url=False)[:4]:
            where = ".".join(str(part) for part in detail["loc"])
            if detail["type"] == "extra_forbidden":
                near = difflib.get_close_matches(where, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
                sentences.append(f"{self.name} has no argument {where!r}; {hint}")
            elif detail["type"] == "missing":
                sentences.append(f"{self.name} needs the argument {where!r}")
            else:
                got = json.dumps(detail["input"], default=str, ensure_ascii=False)
                got = got if len(got) <= 80 else f"{got[:79]}…"
                expected = _expected_values().get(detail["type"], "")
                if expected:
                    problem = f"expected {expected.format(**detail.get('ctx', {}))}"
                else:
                    problem = detail["msg"].removeprefix("Value error, ")
                sentences.append(f"argument {where!r} of {self.name}: {problem}, got {got}")
        return "; ".join(sentences)


@overload
def tool(fn: F) -> F: ...
@overload
def tool(*, name: str | None = None, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...
def tool(fn: F | None = None, **options: Any) -> F | Callable[[F], F]:
    """Make a plugin's method a tool; the options are those of :meth:`Tool.from_function`.

    Functions given as ``effects``, ``preview`` and ``hidden`` are here other methods of the plugin.
    """

    def mark(function: F) -> F:
        _check_kinds(function.__name__, options.get("effects"), options.get("origin"))
        setattr(function, TOOL_MARK, options)
        return function

    return mark if fn is None else mark(fn)


def _check_kinds(name: str, effects: Any, origin: Any) -> None:
    """Raise ``ValueError`` if a tool declares an effect or origin that does not exist."""
    if isinstance(effects, str):
        raise ValueError(f"effects of {name!r}: write a tuple, ({effects!r},)")
    kinds = get_args(EffectKind)
    for kind in () if effects is None or callable(effects) else effects:
        if kind not in kinds:
            raise ValueError(f"effects of {name!r}: {kind!r} is not one of {', '.join(kinds)}")
    if origin not in (None, "outside", "workspace"):
        raise ValueError(f"origin of {name!r}: {origin!r} is not 'outside' or 'workspace'")


@cache
def _expected_values() -> dict[str, str]:
    """Descriptions of the expected value, by pydantic's type of error."""
    data = files(__package__).joinpath("expected_values.json").read_bytes()
    return cast("dict[str, str]", json.loads(data))


def _summary(doc: str) -> str:
    return re.split(r"^Args:\s*$", doc, maxsplit=1, flags=re.MULTILINE)[0].strip()


def _described(doc: str) -> dict[str, str]:
    return {
        m[1]: m[2].strip()
        for m in re.finditer(r"^\s+(\w+):\s*(.+)$", doc.partition("\nArgs:")[2], re.MULTILINE)
    }


def _compact(schema: Any) -> Any:
    """Return the schema without titles, ``null`` alternatives and empty defaults: fewer tokens."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if not (k == "title" and isinstance(v, str))}
    if not kept.get("default", True):  # models assume false, 0 or empty anyway
        del kept["default"]
    options = [o for o in kept.get("anyOf", ()) if o != {"type": "null"}]
    if "anyOf" in kept and len(options) == 1:
        del kept["anyOf"]
        kept = options[0] | kept
    return {
        key: {name: _compact(part) for name, part in value.items()}
        if key in ("properties", "$defs")
        else _compact(value)
        for key, value in kept.items()
        if key != "additionalProperties" or value is not False
    }
