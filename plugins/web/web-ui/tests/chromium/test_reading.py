"""What people read on the chat page: code, footnotes, folded parts, images, scripts, on paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

New = Callable[..., Window]
ARTICLE = """# Report

A claim[^1], and `grep -x` here.

## Part

### Detail

```python
def total(rows):  # all of them
    return sum(row["size"] for row in rows)
```

```klingon
qapla
```

<details>
<summary>The log</summary>

1. started
2. **ended**

</details>

![chart](https://evil.example/chart.png)

| file | lines |
|---|---:|
| `a.py` | 310 |

[^1]: It was measured.
"""
FORMULAS = r"""The root of $x^2$ is

$$x = \frac{a}{b}$$

```mermaid
flowchart LR
  A[First] --> B[Second]
```

```mermaid
no such diagram
```
"""
HEBREW = "# כותרת\n\n- ראשון\n\n  עוד\n\n> ציטוט\n\nEnglish\n\n| א | ב |\n|---|---|\n| 1 | 2 |"
SCRIPT = [
    {"when": "article please", "text": ARTICLE, "repeat": True},
    {"when": "formulas please", "text": FORMULAS, "repeat": True},
    {"when": "hebrew please", "text": HEBREW, "repeat": True},
    {"when": "show it", "text": "Here: ![my chart](chart.png)\n\nDone.", "repeat": True},
    {
        "when": "run it",
        "tools": [{"name": "bash", "arguments": {"command": "echo printed-result"}}],
        "repeat": True,
    },
    {"when": ".", "text": "answered", "repeat": True},
]
DIRECTION = "node => getComputedStyle(node).direction"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("reading"))
    made.configure(SCRIPT)
    made.start()
    yield made
    made.close()


def asked(one: Window, text: str) -> Any:
    """Send a message, and return the last answer."""
    before = one.page.locator("[data-details]").count()
    one.say(text)
    one.settled(before + 1)
    return one.log.locator('article[data-role="assistant"]').last


@pytest.mark.slow
def test_code_of_a_known_language_is_coloured_by_a_module_that_loads_then(window: New) -> None:
    one = window().open()
    loaded: list[str] = []
    one.page.on("request", lambda request: loaded.append(request.url))
    asked(one, "hello")
    assert not any("highlight.js" in url for url in loaded)
    answer = asked(one, "article please")
    answer.locator(".code-keyword").first.wait_for()
    assert sum("highlight.js" in url for url in loaded) == 1
    code, plain = answer.locator("pre code").all()
    assert code.inner_text() == ARTICLE.split("```python\n")[1].split("\n```")[0]
    assert code.locator(".code-comment").inner_text() == "# all of them"
    assert code.locator(".code-function").first.inner_text() == "total"
    assert plain.locator("[class*=code-]").count() == 0
    colours = {
        code.locator(f".code-{kind}").first.evaluate("node => getComputedStyle(node).color")
        for kind in ("keyword", "comment", "string", "function")
    }
    assert len(colours) == 4


@pytest.mark.slow
def test_footnote_leads_to_its_note_and_back(window: New) -> None:
    one = window().open()
    answer = asked(one, "article please")
    reference = answer.get_by_role("button", name="Footnote 1")
    reference.click()
    assert "It was measured." in one.page.evaluate("document.activeElement.innerText")
    answer.get_by_role("button", name="Back to the text").click()
    assert reference.evaluate("node => node === document.activeElement")


@pytest.mark.slow
def test_headings_become_smaller_with_their_depth(window: New) -> None:
    answer = asked(window().open(), "article please")
    size = "node => parseFloat(getComputedStyle(node).fontSize)"
    sizes = [answer.locator(tag).first.evaluate(size) for tag in ("h3", "h4", "h5", ".lot > p")]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


@pytest.mark.slow
def test_details_are_folded(window: New) -> None:
    answer = asked(window().open(), "article please")
    assert not answer.locator("details li").first.is_visible()
    answer.get_by_text("The log").click()
    assert answer.locator("details li").all_inner_texts() == ["started", "ended"]
    assert answer.get_by_role("link", name="[image: chart]").count() == 1


@pytest.mark.slow
def test_image_of_the_chats_own_file_is_shown(window: New) -> None:
    one = window().open()
    one.page.evaluate(
        """async (data) => {
            const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
            const files = new DataTransfer();
            files.items.add(new File([bytes], "chart.png", { type: "image/png" }));
            const input = document.querySelector("input[type=file]");
            input.files = files.files;
            input.dispatchEvent(new Event("change", { bubbles: true }));
        }""",
        PNG,
    )
    one.page.locator(".chip").wait_for()
    one.until("() => !document.querySelector('progress')")
    answer = asked(one, "show it")
    for _ in range(2):
        image = answer.get_by_role("img", name="my chart")
        image.wait_for()
        one.until("() => [...document.images].every((one) => one.complete && one.naturalWidth)")
        one.page.reload()
        one.settled()


@pytest.mark.slow
def test_blocks_of_a_script_from_right_to_left_begin_on_the_right(window: New) -> None:
    answer = asked(window().open(), "hebrew please")
    for tag in ("h3", "ul", "blockquote", "table", "li > p"):
        assert answer.locator(tag).first.evaluate(DIRECTION) == "rtl", tag
    assert answer.get_by_text("English").evaluate(DIRECTION) == "ltr"


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_printed_chat_has_its_text_alone_and_nothing_folded(window: New, theme: str) -> None:
    one = window(color_scheme=theme).open()
    asked(one, "article please")
    asked(one, "run it, please")
    one.page.emulate_media(media="print")
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for text in ("started", "printed-result", "It was measured."):
        assert one.log.get_by_text(text).first.is_visible(), text
    assert not one.page.get_by_role("button", name="Send").is_visible()
    assert not one.page.get_by_role("navigation").first.is_visible()
    assert one.page.get_by_role("button").locator("visible=true").count() == 1  # the footnote
    height = "node => node.scrollHeight - node.clientHeight"
    assert one.log.evaluate(height) == 0, "the log must not scroll on paper"
    assert one.page.evaluate("getComputedStyle(document.body).colorScheme") == "light"
    one.page.evaluate("dispatchEvent(new Event('afterprint'))")
    one.page.emulate_media(media="screen")
    assert not one.log.get_by_text("started").first.is_visible()


@pytest.mark.slow
def test_answer_is_copied_with_formatting_and_as_markdown(window: New) -> None:
    one = window(permissions=["clipboard-read", "clipboard-write"]).open()
    answer = asked(one, "article please")
    read = """async () => {
        const [item] = await navigator.clipboard.read();
        const text = async (type) => [type, await (await item.getType(type)).text()];
        const texts = item.types.map(text);
        return JSON.stringify(Object.fromEntries(await Promise.all(texts)));
    }"""
    answer.get_by_role("button", name="Copy as Markdown").click()
    answer.get_by_role("button", name="Copied").wait_for()
    assert json.loads(one.page.evaluate(read)) == {"text/plain": ARTICLE}
    answer.locator("footer").get_by_role("button", name="Copy", exact=True).click()
    answer.get_by_role("button", name="Copied").first.wait_for()
    one.page.wait_for_timeout(200)
    copied = json.loads(one.page.evaluate(read))
    assert copied["text/plain"] == ARTICLE
    assert "<h3" in copied["text/html"]
    assert "<button" not in copied["text/html"]


@pytest.mark.slow
def test_formulas_are_mathml_and_diagrams_are_drawn_when_opened(window: New) -> None:
    one = window().open()
    loaded: list[str] = []
    one.page.on("request", lambda request: loaded.append(request.url))
    one.say("formulas please")
    one.settled()
    one.log.locator("math[display=block] mfrac").wait_for()
    assert one.log.locator("math").count() == 2
    assert one.log.locator("math").first.text_content() == "x2"
    assert not [url for url in loaded if "diagram" in url]
    buttons = one.log.get_by_role("button", name="Show diagram")
    buttons.first.click()
    frame = one.log.frame_locator("iframe").first
    frame.locator("svg").get_by_text("Second").wait_for()
    assert frame.locator("svg").evaluate("node => self.origin") == "null"
    one.button("Show source").click()
    one.log.get_by_text("A[First] --> B[Second]").wait_for()
    buttons.last.click()
    one.log.get_by_text("This diagram cannot be drawn").wait_for()
