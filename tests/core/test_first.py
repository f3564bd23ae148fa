from hookline_hookspecs import Deny, Plugin, ToolCall, hookimpl, tool
from hookline.testing import calls
from pydantic import BaseModel

class GreeterConfig(BaseModel):
    greeting: str = "Hello"

class Greeter(Plugin[GreeterConfig]):
    @tool(read_only=True)
    def greet(self, name: str) -> str:
        """Greet a person by name."""
        return f"{self.config.greeting}, {name}!"

    @hookimpl
    async def pre_tool(self, ctx, call: ToolCall):
        if call.name == "greet" and call.arguments["name"] == "Voldemort":
            return Deny("that name is not spoken here")

def test_x(harness):
    h = harness(Greeter, config={"greeting":"Hi"}, model=[[calls("greet", name="Bo"), calls("greet", name="Voldemort")], "ok"])
    r = h.send("hello")
    assert r.text == "ok"
    assert [t.text for t in r.tool_calls] == ["Hi, Bo!", "Denied: that name is not spoken here"]
    assert len(h.hooks["pre_tool"]) == 2
    h.model.steps.append("again")
    assert h.send("more").text == "again"
    assert len(h.model.last.messages) == 5

async def test_y(harness):
    h = harness(Greeter, model=["a"])
    assert (await h.asend("x")).text == "a"
    await h.channel.say("hi"); h.model.steps.append("to you")
    assert (await h.channel.replies(1))[0].text == "to you"
