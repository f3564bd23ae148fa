"""Everything a plugin author imports: the hooks, the types that cross them, and the base class.

``from hookline_hookspecs import Plugin, hookimpl, tool``
"""

# One name a line would make this table six times as long.
# fmt: off
# ruff: isort: off
from .drivers import Connection, DeltaSink, Migration, Provider, ProviderSettings, Store
from .errors import (
    AuthError, BadRequest, ContextTooLong, HooklineError, NetworkError, Overloaded,
    ProviderError, RateLimited, Refused, StoreError, ToolError,
)
from .events import (
    SLOTS, Answer, Ask, Attachment, Audio, ContextBlock, Delta, Deny, Excerpt, Failure,
    Fragment, Inbound, Lesson, Marker, ModelRequest, ModelResponse, Notice, PluginFailure,
    Question, Reply, Section, Session, ToolResult, ToolSchema, Turn, Usage, Verdict,
    WireRequest,
)
from .hooks import HOOKS, SIGNALS, HookSpec, HookSpecs, Kind, MaybeAwaitable, hookimpl
from .host import (
    Channel, Context, Hit, Host, Http, HttpResponse, Paths, Stash, Storage, Transaction,
)
from .messages import (
    Block, ImageBlock, Message, TextBlock, ThinkingBlock, ToolCall, ToolResultBlock,
)
from .parts import Check, CheckResult, Command, Job, Reviewer, Route, command
from .plugin import API, NoConfig, Plugin
from .tools import Tool, tool

__all__ = [
    "API", "HOOKS", "SIGNALS", "SLOTS", "Answer", "Ask", "Attachment", "Audio", "AuthError",
    "BadRequest", "Block", "Channel", "Check", "CheckResult", "Command", "Connection",
    "Context", "ContextBlock", "ContextTooLong", "Delta", "DeltaSink", "Deny", "Excerpt",
    "Failure", "Fragment", "Hit", "HookSpec", "HookSpecs", "HooklineError", "Host", "Http",
    "HttpResponse", "ImageBlock", "Inbound", "Job", "Kind", "Lesson", "Marker",
    "MaybeAwaitable", "Message", "Migration", "ModelRequest", "ModelResponse",
    "NetworkError", "NoConfig", "Notice", "Overloaded", "Paths", "Plugin", "PluginFailure",
    "Provider", "ProviderError", "ProviderSettings", "Question", "RateLimited", "Refused",
    "Reply", "Reviewer", "Route", "Section", "Session", "Stash", "Storage", "Store",
    "StoreError", "TextBlock", "ThinkingBlock", "Tool", "ToolCall", "ToolError",
    "ToolResult", "ToolResultBlock", "ToolSchema", "Transaction", "Turn", "Usage",
    "Verdict", "WireRequest", "command", "hookimpl", "tool",
]
