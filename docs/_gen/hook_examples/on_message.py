from dataclasses import replace

from hookline_hookspecs import Context, Deny, Inbound, Plugin, hookimpl


class Moderation(Plugin):
    """Refuses shouting, and writes out an abbreviation."""

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | Deny | None:
        if len(inbound.text) > 20 and inbound.text.isupper():
            return Deny("Please do not shout.")
        text = inbound.text.replace("k8s", "Kubernetes")
        return replace(inbound, text=text) if text != inbound.text else None
