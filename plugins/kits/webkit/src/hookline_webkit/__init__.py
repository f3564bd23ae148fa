"""What the web plugins share with each other and with every plugin that brings a page.

:mod:`.views` is what a page shows, :mod:`.requests` who asks for it and how to refuse, and
:mod:`.services` how the plugins find each other; :mod:`.relay` takes what a turn shows to the
process that shows it. Nothing here imports a web framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .assets import Assets
    from .relay import Relay
    from .requests import (
        Identity,
        Paging,
        Problem,
        RequestLike,
        SiteRoute,
        address,
        form,
        identity,
        part,
        query,
    )
    from .services import (
        Branches,
        Change,
        Device,
        GatewayCommand,
        Keys,
        LoginLink,
        PageLink,
        People,
        Permissions,
        Renderer,
        TurnViews,
        WebServer,
        prepare,
    )
    from .views import (
        Action,
        Actions,
        Badge,
        Chart,
        Code,
        Content,
        Diff,
        Download,
        Entry,
        Field,
        Form,
        Group,
        Link,
        Markdown,
        Moment,
        Part,
        Redirect,
        Row,
        Stat,
        Stats,
        Table,
        Text,
        Timeline,
        Transcript,
        View,
        When,
        plain,
    )

__all__ = [
    "Action",
    "Actions",
    "Assets",
    "Badge",
    "Branches",
    "Change",
    "Chart",
    "Code",
    "Content",
    "Device",
    "Diff",
    "Download",
    "Entry",
    "Field",
    "Form",
    "GatewayCommand",
    "Group",
    "Identity",
    "Keys",
    "Link",
    "LoginLink",
    "Markdown",
    "Moment",
    "PageLink",
    "Paging",
    "Part",
    "People",
    "Permissions",
    "Problem",
    "Redirect",
    "Relay",
    "Renderer",
    "RequestLike",
    "Row",
    "SiteRoute",
    "Stat",
    "Stats",
    "Table",
    "Text",
    "Timeline",
    "Transcript",
    "TurnViews",
    "View",
    "WebServer",
    "When",
    "address",
    "form",
    "identity",
    "part",
    "plain",
    "prepare",
    "query",
]


def __getattr__(name: str) -> Any:
    """A name of one of the modules. A plugin that offers a service at every start imports only
    :mod:`.services`; the parts of pages are 40 dataclasses."""
    if name in __all__:
        for module in ("services", "requests", "views", "assets", "relay"):
            found = import_module(f".{module}", __name__)
            if hasattr(found, name):
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
