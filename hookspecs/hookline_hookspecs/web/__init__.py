"""Pages of plugins: what they show, the requests they answer, and the web server's services.

::

    from hookline_hookspecs.web import Row, Table, View, identity

Import it in the module of the page, not in the plugin's: a start without a web server then does
without it.
"""

# fmt: off
# ruff: isort: off
from .requests import (
    FLASH, IDENTITY, Identity, Paging, Problem, RequestLike, SiteRoute, build_path, identity, path_param, query_params,
    read_form,
)
from .server import (
    Device, Keys, LoginLink, PageLink, Renderer, SessionBranches, TurnViews, WebChange, WebServer,
)
from .tables import TABLES_TASK, create_tables
from .views import (
    Action, Actions, Badge, Cell, Chart, Code, Content, Diff, Download, Field, Form, Group, Link, Markdown, Part,
    Redirect, Row, Stat, Stats, Table, Text, Timeline, TimelineStep, Timestamp, Tone, Transcript, TranscriptEntry,
    View, view_as_json,
)

__all__ = [
    "FLASH", "IDENTITY", "TABLES_TASK", "Action", "Actions", "Badge", "Cell", "Chart", "Code", "Content", "Device",
    "Diff", "Download", "Field", "Form", "Group", "Identity", "Keys", "Link", "LoginLink", "Markdown", "PageLink",
    "Paging", "Part", "Problem", "Redirect", "Renderer", "RequestLike", "Row", "SessionBranches", "SiteRoute", "Stat",
    "Stats", "Table", "Text", "Timeline", "TimelineStep", "Timestamp", "Tone", "Transcript", "TranscriptEntry",
    "TurnViews", "View", "WebChange", "WebServer", "build_path", "create_tables", "identity", "path_param",
    "query_params", "read_form", "view_as_json",
]
