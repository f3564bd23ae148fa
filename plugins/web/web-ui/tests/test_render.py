"""Views as HTML: complete, and escaped."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hookline_hookspecs.web import (
    IDENTITY,
    Action,
    Actions,
    Badge,
    Chart,
    Code,
    Diff,
    Field,
    Form,
    Group,
    Identity,
    Link,
    Markdown,
    Named,
    PageLink,
    Problem,
    Row,
    Stat,
    Stats,
    Table,
    Text,
    Timeline,
    TimelineStep,
    Timestamp,
    View,
    named,
)
from hookline_web_ui.render import HtmlRenderer

OWNER = Identity("web", "owner", "operator", "d1")
PAGES = [
    PageLink("Chat", "/", "", 0, "web-ui"),
    PageLink("Memory", "/memory", "Mind", 1, "memory"),
    PageLink("Skills", "/skills", "Mind", 2, "skills"),
]
EVIL = "<img src=x onerror=alert(1)>\"'&"
RENDERER = HtmlRenderer(lambda who: PAGES)


class Request:
    """The part of a request that a renderer reads."""

    def __init__(self, path: str = "/memory/log", cookie: str = "", who: Any = OWNER) -> None:
        self.scope = {"path": path, "headers": [(b"cookie", cookie.encode())], IDENTITY: who}

    async def body(self) -> bytes:
        return b""


def render_page(*parts: Any, request: Request | None = None, **view: Any) -> str:
    made = RENDERER.page(request or Request(), View("Title", parts, **view))
    return bytes(asyncio.run(made).body).decode()


EVERY_PART = [
    Text(EVIL),
    Text(EVIL, "bad"),
    Markdown(EVIL),
    Table(
        [EVIL],
        [
            Row(
                [Link(EVIL, f"/{EVIL}"), Badge(EVIL), Code(EVIL), EVIL, Named(EVIL, EVIL)],
                [Action(EVIL, f"/{EVIL}", {EVIL: EVIL}, confirm=EVIL)],
                detail=EVIL,
            )
        ],
        title=EVIL,
        more=Link(EVIL, f"/{EVIL}"),
    ),
    Table([EVIL], [], title=EVIL, empty=EVIL),
    Stats([Stat(EVIL, EVIL, EVIL)]),
    Timeline([TimelineStep(EVIL, EVIL, 0, 1, EVIL, "bad", [TimelineStep(EVIL)])], EVIL),
    Chart(EVIL, [EVIL], {EVIL: [1], f"2{EVIL}": [2]}, "stacked", EVIL),
    Diff(EVIL, f"{EVIL}!", EVIL),
    Form("/x", [Field(EVIL, EVIL, "text", EVIL, help=EVIL, error=EVIL)], EVIL, EVIL, EVIL),
    Form("/x", [Field("a", EVIL, "choice", EVIL, [EVIL]), Field("b", "", "yaml", EVIL)]),
    Form("/x", [Field("c", "", "hidden", EVIL), Field("d", "", "secret", EVIL)], get=True),
    Actions([Action(EVIL, "/x", {"a": EVIL}, get=True)]),
    Group(EVIL, [Text(EVIL)]),
]


@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: type(part).__name__)
def test_view_text_is_escaped(part: Any) -> None:
    page = render_page(part, subtitle=EVIL, crumbs=[Link(EVIL, "/")])
    assert "<img" not in page
    for tag in re.findall(r"<[^>]*>", page):
        assert not re.search(r"\son\w+=|\sstyle=|javascript:", re.sub(r'"[^"]*"', '""', tag)), tag


def test_secret_field_value_is_never_sent() -> None:
    page = render_page(Form("/x", [Field("key", "Key", "secret", "hunter2")]))
    assert "hunter2" not in page
    assert "Leave empty to keep it" in page


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("/a?b=c", "/a?b=c"),
        ("https://example.com/x", "https://example.com/x"),
        ("mailto:a@example.com", "mailto:a@example.com"),
        ("javascript:alert(1)", "#"),
        (" javascript:alert(1)", "#"),
        ("java\nscript:alert(1)", "#"),
        ("data:text/html,x", "#"),
        ("//evil.example/x", "#"),
        ("/\\evil.example", "#"),
    ],
)
def test_unsafe_addresses_are_not_links(address: str, leads: str) -> None:
    assert f'<a href="{leads}"' in render_page(Table(["A"], [Row([Link("go", address)])]))


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "![x](https://evil.example/x.png)",
        "<https://a.example> <b onclick=x>raw</b>",
        '<table style="x"><tr><td>',
        "[x](https://a.example 'a\"b')",
        "```<script>\nalert(1)\n```",
    ],
)
def test_markdown_creates_no_unsafe_elements(text: str) -> None:
    page = render_page(Markdown(text))
    inner = page[page.index('<div class="md">') : page.index("</main>")]
    assert not re.search(r"<(?!/?(?:a|p|div|pre|code|h\d)\b)", inner), inner
    assert "javascript:" not in re.sub(r"<p[^>]*>.*?</p>", "", inner)


def test_markdown_renders_every_kind_of_element() -> None:
    page = render_page(
        Markdown(
            "# One\n\n- a\n- **b**\n\n3. c\n\n> q\n\n`x<y`\n\n| a | b |\n|--:|:-:|\n| 1 | ~~2~~ |"
        )
    )
    for piece in (
        *(
            '<h3 dir="auto">One</h3>',
            "<strong>b</strong>",
            '<ol dir="auto" start="3">',
            '<blockquote dir="auto">',
        ),
        *("<code>x&lt;y</code>", '<td data-align="right">1</td>', "<s>2</s>"),
    ):
        assert piece in page


def test_every_page_has_a_sign_out_button() -> None:
    person = Identity("web", "mia", "person", "d2")
    text = render_page(Text("Words"), request=Request(who=person))
    assert (
        '<form method="post" action="/logout"><button class="plain">Sign out</button></form>'
        in text
    )


def test_navigation_marks_the_current_page() -> None:
    page = render_page()
    assert '<nav class="nav-main" aria-label="Main">' in page
    assert page.count("aria-current") == 1
    assert '<a href="/memory" aria-current="page">' in page
    assert "<summary>Mind</summary>" in page


@pytest.mark.parametrize(("cookie", "theme"), [("a=b; hookline-theme=dark", "dark"), ("", None)])
def test_theme_follows_cookie(cookie: str, theme: str | None) -> None:
    page = render_page(request=Request(cookie=cookie))
    assert ('data-theme="dark"' in page) is (theme == "dark")


def test_theme_cookie_cannot_inject_markup() -> None:
    assert "evil" not in render_page(request=Request(cookie='hookline-theme="><evil>'))


def test_times_numbers_and_control_characters_are_formatted() -> None:
    page = render_page(Table(["A"], [Row([Timestamp(0), 1234567, 0.25, Code("a\u202eb")])]))
    assert 'datetime="1970-01-01T00:00:00+00:00"' in page
    assert "1,234,567" in page
    assert "0.25" in page
    assert 'a<span class="control">U+202E</span>b' in page


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("web:mia", "mia (web page)"),
        ("telegram:222", "222 (Telegram)"),
        ("terminal:default", "Terminal"),
        ("terminal", "Terminal"),
        ("os:root", "root (command line)"),
        ("config.yaml", "config.yaml"),
        ("", ""),
    ],
)
def test_person_or_chat_is_named_in_words_with_its_id_behind_a_press(id_: str, name: str) -> None:
    page = render_page(Table(["A"], [Row([named(id_)])]))
    shown = f"<summary>{name}</summary><code>{id_}</code>" if name != id_ else f">{name}</td>"
    assert shown in page


def test_short_steps_are_folded_so_that_long_ones_stand_out() -> None:
    def step(title: str, ms: float, **more: Any) -> TimelineStep:
        return TimelineStep(title, "", 0, ms, **more)

    quick = [step(f"quick {n}", 0.05) for n in range(12)]
    told = step("changed", 0.05, detail="changed text")
    slow = step("slow", 1000, children=[*quick[:3], step("within", 900)])
    page = render_page(Timeline([*quick, told, quick[0], slow]))
    folded = re.findall(r"<details><summary>(.*?)</summary>(.*?)</details>", page, re.S)
    assert ["12 short steps" in folded[0][0], "3 short steps" in folded[1][0]] == [True, True]
    assert "0.6 ms" in folded[0][0]
    assert folded[0][1].count("quick") == 12
    outside = re.sub(r"<details>.*?</details>", "", page, flags=re.S)
    assert re.findall(r'class="what">(.*?)</span>', outside) == [
        "changed",
        "quick 0",
        "slow",
        "within",
    ]


def test_long_timeline_is_folded() -> None:
    page = render_page(Timeline([TimelineStep(f"step {n}") for n in range(203)]))
    assert "3 more steps" in page
    assert "step 202" in page


@pytest.mark.parametrize("kind", ["bar", "stacked", "line"])
@pytest.mark.parametrize("figures", [[0, 0], [1, 2], [-5, 3], [1e12, 2], [0.001], []])
def test_chart_renders_any_numbers(kind: Any, figures: list[float]) -> None:
    page = render_page(Chart("C", ["a", "b"], {"x": figures, "y": [1, 1]}, kind))
    assert 'role="img" aria-label="C: x, y"' in page
    assert "nan" not in page
    assert "<summary>Data" in page


def test_chart_labels_are_not_truncated() -> None:
    page = render_page(Chart("C", ["files", "session-search"], {"x": [1, 2]}, "bar"))
    for text in ("files", "session-", "search"):
        assert f'text-anchor="middle">{text}</text>' in page


def test_diff_is_shown_line_by_line() -> None:
    before = "\n".join(map(str, range(30)))
    page = render_page(Diff(before, before.replace("15", "x")))
    assert '<div class="del">- 15</div>' in page
    assert '<div class="add">+ x</div>' in page
    assert "… from line 13" in page
    assert "- 2" not in page
    assert "No changes." in render_page(Diff("a", "a"))


def test_error_page_is_escaped_and_has_a_link_back() -> None:
    problem = Problem(503, "busy", EVIL, "Wait.", {"Retry-After": "3"})
    answer = asyncio.run(RENDERER.problem(Request(), problem))
    text = bytes(answer.body).decode()
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert "<img" not in text
    for piece in ("Wait.", "Back to chat", "Try again"):
        assert piece in text


def test_error_page_leads_someone_without_chats_to_their_first_page() -> None:
    renderer = HtmlRenderer(lambda who: PAGES[1:])
    answer = asyncio.run(renderer.problem(Request(), Problem(403, "forbidden", "Only an admin.")))
    text = bytes(answer.body).decode()
    assert '<a class="button primary" href="/memory">Memory</a>' in text
    assert "Back to chat" not in text


def test_error_page_without_login_shows_no_navigation() -> None:
    answer = asyncio.run(RENDERER.problem(Request(who=None), Problem(421, "host", "Wrong.")))
    text = bytes(answer.body).decode()
    assert "Wrong." in text
    assert '<a class="button primary" href="/">Back to chat</a>' in text
    assert "<nav" not in text


def test_table_breaks_long_urls_but_not_words() -> None:
    page = render_page(
        Table(["A", "B"], [Row([f"https://a.example/{'x' * 40}", "some words " * 9])])
    )
    assert page.count('class="unbroken"') == 1
    assert '<td role="cell" data-label="A" class="unbroken">https://' in page


def test_single_line_step_detail_is_not_folded() -> None:
    page = render_page(
        Timeline([TimelineStep("a", "", 0, 1, "one line"), TimelineStep("b", "", 0, 1, "one\ntwo")])
    )
    assert '<p class="quiet small">one line</p>' in page
    assert page.count("<summary>") == 1 + page.count("data-section=")


@pytest.mark.parametrize(
    ("get", "option"), [(True, '<option value="" selected>Any<'), (False, "<option selected><")]
)
def test_empty_choice_is_any_in_search_forms(get: bool, option: str) -> None:
    kind = Field("kind", "Kind", "choice", "", ("", "tool"))
    assert option in render_page(Form("/audit", [kind], "Find", get=get))


def test_titles_cells_and_links_of_others_hide_nothing() -> None:
    hidden = "a\u202etxt.sh p\u0430y"
    cells = (hidden, Link(hidden, "/x"), Badge(hidden), Code(hidden))
    table = Table(("name",) * 4, (Row(cells),), title=hidden)
    text = "[paypal.com](https://evil.example/) &#x202e;"
    page = render_page(table, Text(hidden), Markdown(text), Diff(hidden, "b"))
    assert "\u202e" not in page
    assert page.count('a<span class="control">U+202E</span>txt.sh p<span class="control">') >= 6
    assert 'paypal.com <span class="control">→ evil.example</span></a>' in page


def test_markdown_has_footnotes_and_directions() -> None:
    text = "שלום[^a] and [^b].[^c]\n\n- one\n\n```\n[^b]: code\n```\n\n"
    made = render_page(Markdown(f"{text}[^b]: Second.\n[^a]: First **note**."))
    assert '<p dir="auto">שלום<sup>1</sup> and <sup>2</sup>.[^c]</p>' in made
    assert '<ul dir="auto"><li>one</li></ul>' in made
    assert "[^b]: code" in made
    notes = made[made.index('<section class="footnotes"') :]
    assert '<li value="1"><p>First <strong>note</strong>.</p></li>' in notes
    assert '<li value="2"><p>Second.</p></li>' in notes
    assert '<p dir="auto">[^x] alone</p>' in render_page(Markdown("[^x] alone"))


def test_markdown_has_boxes_of_tasks_and_formulas_as_they_are() -> None:
    page = render_page(Markdown("- [x] one\n- [ ] *two*\n- [no] box\n\n$a_1 + b_1$ for $5 or $6"))
    box = '<input type="checkbox" disabled aria-label="Done"'
    assert f"<li>{box} checked> one</li><li>{box}> <em>two</em></li><li>[no] box</li>" in page
    assert "<code>$a_1 + b_1$</code> for $5 or $6" in page
    assert "<code>" not in render_page(Markdown(f"\\({'x' * 3_000}\\)"))  # its end is too far


def test_markdown_folds_details_that_end() -> None:
    text = "<details><summary>More <b></summary>\n\n- one\n\n</details>\n\nEnd"
    page = render_page(Markdown(f"{text}\n\n<details><summary>Open</summary>\n\nLast"))
    fold = '<details class="fold"><summary dir="auto">More &lt;b&gt;</summary><div class="lot">'
    assert f'{fold}<ul dir="auto"><li>one</li></ul></div></details><p dir="auto">End</p>' in page
    assert "&lt;details&gt;&lt;summary&gt;Open" in page


def test_page_without_a_link_of_its_own_is_in_its_parents_section() -> None:
    page = render_page(request=Request("/user-model"), crumbs=[Link("Memory", "/memory?q=x")])
    assert '<a href="/memory" aria-current="page">' in page


def test_parts_of_sentences_in_backticks_are_literal() -> None:
    page = render_page(Text("Run `a <b>` again."), Text("See `x`.", "bad"))
    assert '<p>Run <span class="mono">a &lt;b&gt;</span> again.</p>' in page
    assert '<p>See <span class="mono">x</span>.</p>' in page


def test_columns_of_money_and_percentages_are_figures() -> None:
    rows = [Row(["$0.10", "12%", 3, "free"]), Row(["< $0.01", "0.5%", None, "$1"])]
    page = render_page(Table(["a", "b", "c", "d"], rows))
    assert re.findall(r'class="num">([abcd])<', page) == ["a", "b", "c"]
    assert page.count('class="num">') == 9
