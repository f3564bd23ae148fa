"""Shared code of Hookline's network channels.

A channel plugin implements a :class:`PlatformClient` for its platform, and subclasses
:class:`ChannelPlugin` and :class:`ChannelConfig`. The README is the guide.
"""

from __future__ import annotations

from .authors import EarlierMessage, author_label, earlier_fields, quote_fields, quoted_origin
from .base_clients import ListeningClient, PollingClient, PollLoop, lazy_client
from .channel import ChannelOptions, NetworkChannel
from .chat_directory import ChatAliases, PrivateChats
from .client import LINK_PREVIEWS, UNKNOWN, PlatformClient, SendOptions, Unknown
from .config import ChannelConfig, ChannelConfigWithBots, Credential
from .containers import BoundedDict, ChatLocks
from .errors import (
    BadMarkup,
    CannotStart,
    ChatGone,
    DeliveryUnknown,
    ErrorClassifier,
    MessageGone,
    MessageTooLong,
    NotModified,
    PermissionDenied,
    PlatformError,
    RetryAfter,
    connection_error,
)
from .events import (
    ALREADY_PRESSED,
    MESSAGE_TOO_OLD,
    PRESS_REPLIES,
    InboundEvent,
    ReceiveCallback,
    RemoteFile,
    receive_event,
)
from .files import Upload
from .inbound_markdown import code_block, code_span, link_text, quote_block
from .json_data import get_in, package_data
from .limits import Kind, Limits, Rate, Scope
from .markdown import HtmlRenderer, MarkdownRenderer, Renderer, render_markdown
from .media import FileTooLarge, MediaStore
from .message_kinds import describe_kind
from .message_splitter import Piece, iter_pieces, length_function, next_piece, split_markdown, utf16
from .pastes import PasteLimit, SplitTexts
from .plugin import ChannelPlugin, failed_check
from .problems import LogOnce
from .rate_limiter import HourlyLimit
from .socket_pool import SocketEvent, SocketPool
from .watchdog import ReconnectPolicy, Watchdog

__all__ = [
    "ALREADY_PRESSED",
    "LINK_PREVIEWS",
    "MESSAGE_TOO_OLD",
    "PRESS_REPLIES",
    "UNKNOWN",
    "BadMarkup",
    "BoundedDict",
    "CannotStart",
    "ChannelConfig",
    "ChannelConfigWithBots",
    "ChannelOptions",
    "ChannelPlugin",
    "ChatAliases",
    "ChatGone",
    "ChatLocks",
    "Credential",
    "DeliveryUnknown",
    "EarlierMessage",
    "ErrorClassifier",
    "FileTooLarge",
    "HourlyLimit",
    "HtmlRenderer",
    "InboundEvent",
    "Kind",
    "Limits",
    "ListeningClient",
    "LogOnce",
    "MarkdownRenderer",
    "MediaStore",
    "MessageGone",
    "MessageTooLong",
    "NetworkChannel",
    "NotModified",
    "PasteLimit",
    "PermissionDenied",
    "Piece",
    "PlatformClient",
    "PlatformError",
    "PollLoop",
    "PollingClient",
    "PrivateChats",
    "Rate",
    "ReceiveCallback",
    "ReconnectPolicy",
    "RemoteFile",
    "Renderer",
    "RetryAfter",
    "Scope",
    "SendOptions",
    "SocketEvent",
    "SocketPool",
    "SplitTexts",
    "Unknown",
    "Upload",
    "Watchdog",
    "author_label",
    "code_block",
    "code_span",
    "connection_error",
    "describe_kind",
    "earlier_fields",
    "failed_check",
    "get_in",
    "iter_pieces",
    "lazy_client",
    "length_function",
    "link_text",
    "next_piece",
    "package_data",
    "quote_block",
    "quote_fields",
    "quoted_origin",
    "receive_event",
    "render_markdown",
    "split_markdown",
    "utf16",
]
