"""Everything a plugin author imports: the hooks, their types, and the base class.

``from hookline_hookspecs import Plugin, hookimpl, tool``
"""

from .channels import Channel, Feature, features, message_ids
from .conversations import Conversations, Submission
from .drivers import Connection, DeltaSink, Migration, Ownership, Provider, ProviderSettings, Store
from .errors import (
    AuthError,
    BadRequest,
    CommandError,
    ContextTooLong,
    Fenced,
    HooklineError,
    NetworkError,
    OverBudget,
    Overloaded,
    ProviderError,
    RateLimited,
    Refused,
    StoreError,
    ToolError,
)
from .gateway import FetchFiles, GatewayHost, GatewayService, RemoteTurnEvent, WorkDistribution
from .history import Compacted, Rewrite
from .hooks import HOOKS, SIGNALS, HookSpec, HookSpecs, Kind, MaybeAwaitable, hookimpl
from .host import Context, Host, Stash
from .inbound import Attachment, Audio, Inbound
from .inspection import Configuration, Inspection, StablePrompt
from .learning import Excerpt, Lesson
from .messages import (
    Block,
    ImageBlock,
    Message,
    ProviderState,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)
from .modes import Mode, Modes
from .network import Http, HttpResponse
from .optional_services import Access, ArtifactKeeper, Checkpoints, CommandSandbox, ToolServers
from .origins import (
    Effect,
    EffectKind,
    Origin,
    OriginKind,
    merge_origins,
    origins_from_json,
    origins_to_json,
)
from .parts import Audience, Check, CheckResult, Command, Job, Page, Reviewer, Route, command
from .paths import FileRisk, Paths
from .permissions import (
    CheckedCommand,
    CommandCheck,
    OfferedScope,
    PermissionRules,
    RuleKind,
    RuleVerdict,
)
from .plugin import API, NoConfig, Plugin
from .prompt import SLOTS, ContextBlock, Section
from .questions import Choice, Question, QuestionAnswer, Questions, StoredQuestion
from .replies import Notice, Reply
from .requests import (
    Delta,
    Fragment,
    Marker,
    ModelRequest,
    ModelResponse,
    PrefixBreak,
    ToolSchema,
    WireRequest,
)
from .semantic import SearchableCorpus, SemanticIndex, fuse
from .steps import Failure, PluginFailure, Step
from .storage import Hit, Storage, Transaction
from .tool_results import ToolOutput, ToolResult
from .tools import Tool, tool
from .turns import CachePrice, Session, Turn, Usage
from .verdicts import Answer, Ask, Denial, Deny, Verdict

__all__ = [
    "API",
    "HOOKS",
    "SIGNALS",
    "SLOTS",
    "Access",
    "Answer",
    "ArtifactKeeper",
    "Ask",
    "Attachment",
    "Audience",
    "Audio",
    "AuthError",
    "BadRequest",
    "Block",
    "CachePrice",
    "Channel",
    "Check",
    "CheckResult",
    "CheckedCommand",
    "Checkpoints",
    "Choice",
    "Command",
    "CommandCheck",
    "CommandError",
    "CommandSandbox",
    "Compacted",
    "Configuration",
    "Connection",
    "Context",
    "ContextBlock",
    "ContextTooLong",
    "Conversations",
    "Delta",
    "DeltaSink",
    "Denial",
    "Deny",
    "Effect",
    "EffectKind",
    "Excerpt",
    "Failure",
    "Feature",
    "Fenced",
    "FetchFiles",
    "FileRisk",
    "Fragment",
    "GatewayHost",
    "GatewayService",
    "Hit",
    "HookSpec",
    "HookSpecs",
    "HooklineError",
    "Host",
    "Http",
    "HttpResponse",
    "ImageBlock",
    "Inbound",
    "Inspection",
    "Job",
    "Kind",
    "Lesson",
    "Marker",
    "MaybeAwaitable",
    "Message",
    "Migration",
    "Mode",
    "ModelRequest",
    "ModelResponse",
    "Modes",
    "NetworkError",
    "NoConfig",
    "Notice",
    "OfferedScope",
    "Origin",
    "OriginKind",
    "OverBudget",
    "Overloaded",
    "Ownership",
    "Page",
    "Paths",
    "PermissionRules",
    "Plugin",
    "PluginFailure",
    "PrefixBreak",
    "Provider",
    "ProviderError",
    "ProviderSettings",
    "ProviderState",
    "Question",
    "QuestionAnswer",
    "Questions",
    "RateLimited",
    "Refused",
    "RemoteTurnEvent",
    "Reply",
    "Reviewer",
    "Rewrite",
    "Route",
    "RuleKind",
    "RuleVerdict",
    "SearchableCorpus",
    "Section",
    "SemanticIndex",
    "Session",
    "StablePrompt",
    "Stash",
    "Step",
    "Storage",
    "Store",
    "StoreError",
    "StoredQuestion",
    "Submission",
    "TextBlock",
    "ThinkingBlock",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolOutput",
    "ToolResult",
    "ToolResultBlock",
    "ToolSchema",
    "ToolServers",
    "Transaction",
    "Turn",
    "Usage",
    "Verdict",
    "WireRequest",
    "WorkDistribution",
    "command",
    "features",
    "fuse",
    "hookimpl",
    "merge_origins",
    "message_ids",
    "origins_from_json",
    "origins_to_json",
    "tool",
]
