"""What the web plugins share with each other and with every plugin that brings a page.

:mod:`.views` is what a page shows, :mod:`.requests` who asks for it and how to refuse, and
:mod:`.services` how the plugins find each other. Nothing here imports a web framework.
"""

from __future__ import annotations

from .requests import Identity, Paging, Problem, SiteRoute, address, form, identity, part, query
from .services import Device, Keys, LoginLink, PageLink, People, Renderer, TurnViews, WebServer
from .views import (
    Action,
    Actions,
    Badge,
    Chart,
    Code,
    Diff,
    Download,
    Field,
    Form,
    Group,
    Link,
    Markdown,
    Moment,
    Redirect,
    Row,
    Stat,
    Stats,
    Table,
    Text,
    Timeline,
    View,
    When,
    plain,
)

__all__ = [
    "Action",
    "Actions",
    "Badge",
    "Chart",
    "Code",
    "Device",
    "Diff",
    "Download",
    "Field",
    "Form",
    "Group",
    "Identity",
    "Keys",
    "Link",
    "LoginLink",
    "Markdown",
    "Moment",
    "PageLink",
    "Paging",
    "People",
    "Problem",
    "Redirect",
    "Renderer",
    "Row",
    "SiteRoute",
    "Stat",
    "Stats",
    "Table",
    "Text",
    "Timeline",
    "TurnViews",
    "View",
    "WebServer",
    "When",
    "address",
    "form",
    "identity",
    "part",
    "plain",
    "query",
]
