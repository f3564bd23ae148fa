"""Tool calls that models write as text, in the notations of their chat templates."""

from __future__ import annotations

import time

import pytest
from hookline_hookspecs import Message, ModelRequest, TextBlock, ToolCall, ToolSchema
from support.openai_server import Reply


def offered(name, **properties):
    """A tool; its first argument is required."""
    schema = {"type": "object", "properties": properties, "required": [*properties][:1]}
    return ToolSchema(name, "A tool.", schema)


STRING, NUMBER = {"type": "string"}, {"type": "integer"}
STATUS = {"all": {"type": "boolean"}, "tags": {"type": "array", "items": STRING}}
TOOLS = (
    offered("read_file", path=STRING, lines=NUMBER),
    offered("bash", command=STRING, timeout=NUMBER),
    offered("web_search", query=STRING),
    ToolSchema("mcp__git__status", "A tool.", {"type": "object", "properties": STATUS}),
)
ASK = ModelRequest("openai/m", "", TOOLS, (Message.user("hi"),))
PATH = {"path": "a.py"}
NOTATIONS = {
    "json without arguments in a text": (
        '{"name": "mcp__git__status", "arguments": "{}"}',
        [("mcp__git__status", {})],
    ),
    "gemma4": (
        '<|tool_call>call:read_file{path:<|"|>a.py<|"|>}<tool_call|>',
        [("read_file", PATH)],
    ),
    "gemma4 plain": ("call:read_file{path:a.py}", [("read_file", PATH)]),
    "gemma4 two args": (
        '<|tool_call>call:read_file{lines:5,path:<|"|>a.py<|"|>}<tool_call|>',
        [("read_file", {"path": "a.py", "lines": 5})],
    ),
    "gemma3 tool_code": ('```tool_code\nread_file(path="a.py")\n```', [("read_file", PATH)]),
    "gemma3 tool_code print": (
        '```tool_code\nprint(read_file(path="a.py"))\n```',
        [("read_file", PATH)],
    ),
    "llama pythonic": ('[read_file(path="a.py")]', [("read_file", PATH)]),
    "llama pythonic two": (
        '[read_file(path="a.py"), bash(command="ls", timeout=3)]',
        [("read_file", PATH), ("bash", {"command": "ls", "timeout": 3})],
    ),
    "llama4 pythonic tag": (
        '<|python_start|>[read_file(path="a.py")]<|python_end|>',
        [("read_file", PATH)],
    ),
    "llama3 tag pythonic": ('<|python_tag|>read_file(path="a.py")', [("read_file", PATH)]),
    "llama3.1 builtin": (
        '<|python_tag|>web_search.call(query="x y")',
        [("web_search", {"query": "x y"})],
    ),
    "llama3 semicolons": (
        '{"name": "read_file", "parameters": {"path": "a.py"}}; {"name": "bash", "p'
        'arameters": {"command": "ls"}}',
        [("read_file", PATH), ("bash", {"command": "ls"})],
    ),
    "llama3 fn": (
        '<function=read_file>{"path": "a.py"}</function><|eom_id|>',
        [("read_file", PATH)],
    ),
    "llama3 fn no close": ('<function=read_file>{"path": "a.py"}', [("read_file", PATH)]),
    "llama3 fn gt-less": ('<function=read_file{"path": "a.py"}</function>', [("read_file", PATH)]),
    "llama3 fn(": ('<function=read_file({"path": "a.py"})</function>', [("read_file", PATH)]),
    "function name attr": (
        '<function name="read_file">{"path": "a.py"}</function>',
        [("read_file", PATH)],
    ),
    "function name attr param": (
        '<function name="read_file"><param name="path">a.py</param></function>',
        [("read_file", PATH)],
    ),
    "mistral args": (
        '[TOOL_CALLS]read_file[CALL_ID]abcdefghi[ARGS]{"path": "a.py"}',
        [("read_file", PATH)],
    ),
    "mistral list eos": (
        '[TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a.py"}, "id": "abc"}]</s>',
        [("read_file", PATH)],
    ),
    "mistral text before": (
        'Sure.[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a.py"}}]',
        [("read_file", PATH)],
    ),
    "hermes two": (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n</tool_ca'
        'll>\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_ca'
        "ll>",
        [("read_file", PATH), ("bash", {"command": "ls"})],
    ),
    "hermes py quotes": (
        "<tool_call>\n{'arguments': {'path': 'a.py'}, 'name': 'read_file'}\n</tool_call>",
        [("read_file", PATH)],
    ),
    "hermes im_end": (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}}\n<|im_end|>',
        [("read_file", PATH)],
    ),
    "hermes fenced": (
        '<tool_call>\n```json\n{"name": "read_file", "arguments": {"path": "a.py"}}\n`'
        "``\n</tool_call>",
        [("read_file", PATH)],
    ),
    "hermes list": (
        '<tool_call>[{"name": "read_file", "arguments": {"path": "a.py"}}]</tool_call>',
        [("read_file", PATH)],
    ),
    "hermes closing brace lost": (
        '<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}\n</tool_call>',
        [("read_file", PATH)],
    ),
    "granite": (
        '<|tool_call|>[{"name": "read_file", "arguments": {"path": "a.py"}}]',
        [("read_file", PATH)],
    ),
    "phi functools": (
        'functools[{"name": "read_file", "arguments": {"path": "a.py"}}]',
        [("read_file", PATH)],
    ),
    "qwen coder no tool_call": (
        "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
        [("read_file", PATH)],
    ),
    "qwen coder multi": (
        "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n<param"
        "eter=timeout>\n5\n</parameter>\n</function>\n</tool_call>",
        [("bash", {"command": "ls -la", "timeout": 5})],
    ),
    "qwen coder multiline": (
        "<tool_call>\n<function=bash>\n<parameter=command>\ncat <<X\n  a < b\nX\n</parame"
        "ter>\n</function>\n</tool_call>",
        [("bash", {"command": "cat <<X\n  a < b\nX"})],
    ),
    "qwen coder no args": (
        "<tool_call>\n<function=mcp__git__status>\n</function>\n</tool_call>",
        [("mcp__git__status", {})],
    ),
    "qwen coder array": (
        "<tool_call>\n<function=mcp__git__status>\n<parameter=all>\ntrue\n</parameter>\n"
        '<parameter=tags>\n["a", "b"]\n</parameter>\n</function>\n</tool_call>',
        [("mcp__git__status", {"all": True, "tags": ["a", "b"]})],
    ),
    "qwen python bool": (
        "<tool_call>\n<function=mcp__git__status>\n<parameter=all>\nTrue\n</parameter>\n"
        "</function>\n</tool_call>",
        [("mcp__git__status", {"all": True})],
    ),
    "deepseek dsml": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter na'
        'me="path" string="true">a.py</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜fun'
        "ction_calls>",
        [("read_file", PATH)],
    ),
    "deepseek dsml v4": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="'
        'path" string="true">a.py</｜DSML｜parameter>\n<｜DSML｜parameter name="lines" s'
        'tring="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        [("read_file", {"path": "a.py", "lines": 5})],
    ),
    "deepseek ascii": (
        '<|tool▁calls▁begin|><|tool▁call▁begin|>read_file<|tool▁sep|>{"path": "a.py'
        '"}<|tool▁call▁end|><|tool▁calls▁end|>',
        [("read_file", PATH)],
    ),
    "deepseek underscores": (
        "<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>read_file\n```js"
        'on\n{"path": "a.py"}\n```<|tool_call_end|><|tool_calls_end|>',
        [("read_file", PATH)],
    ),
    "glm no args": ("<tool_call>mcp__git__status\n</tool_call>", [("mcp__git__status", {})]),
    "glm int": (
        "<tool_call>bash<arg_key>command</arg_key><arg_value>ls</arg_value><arg_key"
        ">timeout</arg_key><arg_value>5</arg_value></tool_call>",
        [("bash", {"command": "ls", "timeout": 5})],
    ),
    "glm multi-line value": (
        "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>\nls\npwd\n</arg_value>"
        "\n</tool_call>",
        [("bash", {"command": "ls\npwd"})],
    ),
    "glm 4 plain": ('read_file\n{"path": "a.py"}', [("read_file", PATH)]),
    "kimi two": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool"
        '_call_argument_begin|>{"path": "a.py"}<|tool_call_end|><|tool_call_begin|>'
        'functions.bash:1<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_e'
        "nd|><|tool_calls_section_end|>",
        [("read_file", PATH), ("bash", {"command": "ls"})],
    ),
    "kimi text before": (
        "Let me read it. <|tool_calls_section_begin|><|tool_call_begin|>functions.r"
        'ead_file:12<|tool_call_argument_begin|>{"path": "a.py"}<|tool_call_end|><|'
        "tool_calls_section_end|>",
        [("read_file", PATH)],
    ),
    "kimi mcp name": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.mcp__git__status:"
        "0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
        [("mcp__git__status", {})],
    ),
    "minimax m2 two": (
        '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.py<'
        '/parameter>\n</invoke>\n<invoke name="bash">\n<parameter name="command">ls</p'
        "arameter>\n</invoke>\n</minimax:tool_call>",
        [("read_file", PATH), ("bash", {"command": "ls"})],
    ),
    "invoke single quotes": (
        "<invoke name='read_file'>\n<parameter name='path'>a.py</parameter>\n</invoke>",
        [("read_file", PATH)],
    ),
    "cohere": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read_file", "paramete'
        'rs": {"path": "a.py"}}]<|END_ACTION|>',
        [("read_file", PATH)],
    ),
    "nemotron": (
        '<TOOLCALL>[{"name": "read_file", "arguments": {"path": "a.py"}}]</TOOLCALL>',
        [("read_file", PATH)],
    ),
    "lfm2": ('<|tool_call_start|>[read_file(path="a.py")]<|tool_call_end|>', [("read_file", PATH)]),
    "lfm2 json": (
        '<|tool_call_start|>[{"name": "read_file", "arguments": {"path": "a.py"}}]<'
        "|tool_call_end|>",
        [("read_file", PATH)],
    ),
    "internlm": (
        '<|action_start|><|plugin|>{"name": "read_file", "parameters": {"path": "a.'
        'py"}}<|action_end|>',
        [("read_file", PATH)],
    ),
    "seed oss": (
        "<seed:tool_call>\n<function=read_file>\n<parameter=path>a.py</parameter>\n</f"
        "unction>\n</seed:tool_call>",
        [("read_file", PATH)],
    ),
    "longcat": (
        "<longcat_tool_call>read_file\n<longcat_arg_key>path</longcat_arg_key>\n<long"
        "cat_arg_value>a.py</longcat_arg_value>\n</longcat_tool_call>",
        [("read_file", PATH)],
    ),
    "gpt-oss no channel": (
        "<|start|>assistant<|channel|>commentary to=functions.read_file <|constrain"
        '|>json<|message|>{"path": "a.py"}<|call|>',
        [("read_file", PATH)],
    ),
    "gpt-oss analysis": (
        '<|channel|>analysis to=functions.read_file code<|message|>{"path": "a.py"}',
        [("read_file", PATH)],
    ),
    "gpt-oss role to": (
        "<|start|>assistant to=functions.read_file<|channel|>commentary json<|messa"
        'ge|>{"path": "a.py"}<|call|>',
        [("read_file", PATH)],
    ),
    "openai parallel": (
        '{"tool_uses": [{"recipient_name": "functions.read_file", "parameters": {"p'
        'ath": "a.py"}}]}',
        [("read_file", PATH)],
    ),
    "ollama nested": (
        '{ "web_search": { "parameters": { "query": "x" } } }',
        [("web_search", {"query": "x"})],
    ),
    "tool_calls json": (
        '{"tool_calls": [{"id": "c", "type": "function", "function": {"name": "read'
        '_file", "arguments": "{\\"path\\": \\"a.py\\"}"}}]}',
        [("read_file", PATH)],
    ),
    "func prefix name": (
        '{"name": "functions.read_file", "arguments": {"path": "a.py"}}',
        [("read_file", PATH)],
    ),
    "func case name": (
        '<tool_call>{"name": "Read_File", "arguments": {"path": "a.py"}}</tool_call>',
        [("read_file", PATH)],
    ),
    "think then call": (
        '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "read_file", "arguments": {"path'
        '": "a.py"}}\n</tool_call>',
        [("read_file", PATH)],
    ),
    "call within think": (
        '<think>\nhm <tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}'
        "}\n</tool_call>\n</think>",
        [("read_file", PATH)],
    ),
    "call within think, not closed": (
        '<think>\nhm\n<tool_call>\n{"name": "read_file", "arguments": {"path": "a.py"}'
        "}\n</tool_call>",
        [("read_file", PATH)],
    ),
    "react": (
        'Thought: I need it.\nAction: read_file\nAction Input: {"path": "a.py"}',
        [("read_file", PATH)],
    ),
    "react with an invented observation": (
        '**Action:** `read_file`\n**Action Input:** {"path": "a.py"}\nObservation: it has\nFinal '
        "Answer: done",
        [("read_file", PATH)],
    ),
    "react with plain input": (
        "Action: web_search\nAction Input: weather a.py",
        [("web_search", {"query": "weather a.py"})],
    ),
    "react without input": (
        "Action: mcp__git__status\nAction Input: None",
        [("mcp__git__status", {})],
    ),
    "react pythonic": ('Action: read_file(path="a.py")', [("read_file", PATH)]),
    "react blob": (
        'Action:\n```json\n{"action": "read_file", "action_input": {"path": "a.py"}}\n```',
        [("read_file", PATH)],
    ),
    "command-r": (
        'Action: ```json\n[{"tool_name": "read_file", "parameters": {"path": "a.py"}}]\n```',
        [("read_file", PATH)],
    ),
    "langchain": (
        '```json\n{"action": "web_search", "action_input": "weather a.py"}\n```',
        [("web_search", {"query": "weather a.py"})],
    ),
    "qwen-agent": (
        '✿FUNCTION✿: read_file\n✿ARGS✿: {"path": "a.py"}\n✿RESULT✿',
        [("read_file", PATH)],
    ),
    "cline": (
        "Let me look.\n\n<read_file>\n<path>a.py</path>\n</read_file>",
        [("read_file", PATH)],
    ),
    "cline multi": (
        "<bash>\n<command>\ncat <<X\n a < b && c\nX\n</command>\n<timeout>5</timeout>\n</bash>",
        [("bash", {"command": "cat <<X\n a < b && c\nX", "timeout": 5})],
    ),
    "cline two": (
        "<read_file><path>a.py</path></read_file>\n<bash><command>ls</command></bash>",
        [("read_file", PATH), ("bash", {"command": "ls"})],
    ),
    "cline json": ('<read_file>{"path": "a.py"}</read_file>', [("read_file", PATH)]),
    "cline no args": ("<mcp__git__status/>", [("mcp__git__status", {})]),
    "cline attributes": (
        '<read_file path="a.py" lines="5"/>',
        [("read_file", PATH | {"lines": 5})],
    ),
    "cline fenced": (
        "```xml\n<read_file>\n<path>a.py</path>\n</read_file>\n```",
        [("read_file", PATH)],
    ),
    "cline in hermes": (
        "<tool_call>\n<read_file>\n<path>a.py</path>\n</read_file>\n</tool_call>",
        [("read_file", PATH)],
    ),
    "cherry studio": (
        '<tool_use>\n<name>read_file</name>\n<arguments>{"path": "a.py"}</arguments>\n</tool_use>',
        [("read_file", PATH)],
    ),
    "name and elements": (
        "<function_call>\n<name>read_file</name>\n<arguments>\n<path>a.py</path>\n</arguments>\n"
        "</function_call>",
        [("read_file", PATH)],
    ),
    "lm studio": (
        '[TOOL_REQUEST]{"name": "read_file", "arguments": {"path": "a.py"}}[END_TOOL_REQUEST]',
        [("read_file", PATH)],
    ),
    "tool_code tag": ('<tool_code>read_file(path="a.py")</tool_code>', [("read_file", PATH)]),
    "tool name attr": ('<tool name="read_file">{"path": "a.py"}</tool>', [("read_file", PATH)]),
    "hunyuan": (
        "<tool_calls>\n<tool_call>read_file<tool_sep>\n<arg_key>path</arg_key>\n<arg_value>a.py"
        "</arg_value>\n</tool_call>\n</tool_calls>",
        [("read_file", PATH)],
    ),
}


async def answer(serve, connect, text, **options):
    """The blocks of a response, and the text that was shown while it came."""
    provider = connect(serve([Reply(text, piece=3)]), **options)
    shown = []
    response = await provider.send(provider.render(ASK), shown.append)
    return response.blocks, "".join(delta.text for delta in shown if delta.kind == "text")


@pytest.mark.parametrize("name", NOTATIONS)
async def test_call_in_a_notation_of_its_own_is_a_call_and_not_shown(serve, connect, name):
    text, expected = NOTATIONS[name]
    for stream in (True, False):
        blocks, shown = await answer(serve, connect, text, stream=stream)
        called = [(one.name, one.arguments) for one in blocks if isinstance(one, ToolCall)]
        assert called == expected
        if stream:
            assert "a.py" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "Gemma writes `<|tool_call>call:read_file{path:a.py}` to call.",
        'In Python:\n```python\nread_file(path="a.py")\nprint(1)\n```\nreads it.',
        '[read_file(path="a.py")] is how Llama writes it.',
        "read_file(path=name)",
        'open("a.py")',
        "[read_file, bash]",
        "read_file\nreads a file.",
        '<function name="unknown">{"path": "a.py"}</function>',
        "call: read_file",
        "if a <tool and b> c: call(x)",
        "functools[0]",
        "Options" + " [A]" * 40,
        "<tool_call>read_file" + "<|x|>  " * 40,
        'For example:\nAction: read_file\nAction Input: {"path": "a.py"}',
        "Action: read_file\nThe file was not there.",
        "Action: read the logs\nAction Input: none\nOwner: Ann",
        "In XML:\n```xml\n<read_file><path>a.py</path></read_file>\n```\nreads it.",
        "Cline writes\n<read_file><path>a.py</path></read_file>\nwhich " + "means much " * 20,
        "<read_file><path>a.py</path> and the rest",
        "<read_file><unknown>a.py</unknown></read_file>",
        "<b>bold</b> and <bash",
        "```\nAction: read_file\nAction Input: a.py\n```\nis answered by\n```\nIt ends.\n```",
        '[TOOL_CALLS] is a mark, and read_file {"path": "a.py"} is not behind it',
    ],
)
async def test_text_about_calls_stays_text(serve, connect, text):
    blocks, shown = await answer(serve, connect, text)
    assert blocks == (TextBlock(text),)
    assert shown == text


@pytest.mark.slow
@pytest.mark.parametrize(
    "begin",
    [
        "<function=read_file><parameter=path>a",
        "<tool_call>read_file<arg_key>",
        "<|tool_call>call:read_file{}",
        "<read_file><path>a</path>",
        "Action: read_file\nAction Input: ",
        "Action: read_file\nAction Input: ```\nx",
    ],
)
async def test_long_white_space_in_a_call_is_read_in_time(serve, connect, begin):
    start = time.process_time()
    await answer(serve, connect, f"{begin}{' ' * 50_000}x", stream=False)
    assert time.process_time() - start < 10


async def test_python_warns_of_nothing_in_an_answer(serve, connect, recwarn):
    for text in ("I have 3or 4 (or 5).", 'bash(command="\\d")'):
        await answer(serve, connect, text)
    assert not [one for one in recwarn if one.filename == "<unknown>"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "<tool_call>",
        "<tool_call>{",
        "<function=read_file><parameter=path>",
        "<tool_call>read_file<arg_key>a",
        "<|tool_call>call:read_file{a:",
        "[TOOL_CALLS]read_file",
        "<|channel|>commentary to=read_file ",
        "read_file(",
        "read_file [A]  ",
        "read_file <|x|>  ",
        "[",
        "functools[",
        "<read_file>\n",
        "<read_file><path>",
        "\n<bash><command>a</command>",
        "Action: read_file\n",
        "Action: read_file\nAction Input: {",
    ],
)
async def test_long_text_of_marks_is_read_in_time(serve, connect, unit):
    start = time.process_time()
    await answer(serve, connect, unit * (100_000 // len(unit)), stream=False)
    assert time.process_time() - start < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        f"<read_file {'a' * 100_000}/>",
        f"<function=read_file><parameter={'a' * 100_000}",
        "<bash><command>a</command></bash>\n" * 5_000 + "and more " * 20,
        "a line\n" * 20_000,
        "\n" * 50_000 + "a line",
    ],
    ids=["attribute", "parameter", "elements", "lines", "empty lines"],
)
async def test_long_text_in_one_piece_is_read_in_time(serve, connect, text):
    provider = connect(serve([Reply(text, piece=len(text))]))
    start = time.process_time()
    await provider.send(provider.render(ASK), lambda _delta: None)
    assert time.process_time() - start < 10
