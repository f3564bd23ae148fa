from hookline_hookspecs import Context, Continue, Plugin, Turn, hookimpl


class Signed(Plugin):
    """Has the model go on until its answer is signed."""

    @hookimpl
    def post_answer(self, ctx: Context, turn: Turn) -> Continue | None:
        if turn.reply.rstrip().endswith("Yours, Hookline"):
            return None
        return Continue("Sign the answer with: Yours, Hookline")
