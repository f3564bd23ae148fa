// Which events close the questions that turns ended with. Run with `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { OpenQuestions } from "../../src/hookline_web_ui/static/js/inbox_count.js";

const question = { id: "t-reply", session: "a", root: "a", updated: 5, ends_turn: true };
const isOpenAfter = (event) => {
  const open = new OpenQuestions();
  open.draw = () => {};
  open.load([question]);
  open.apply(event);
  return open.byId.size === 1;
};
const row = { id: "b", root: "a", updated: 6, ended: null, archived: false };

test("a question that a turn ended with is closed by what leaves it behind", () => {
  for (const event of [
    { type: "state", session: "a", state: "running" },
    { type: "session", session: "a", deleted: true },
    { type: "session", session: "a", row: { ...row, id: "a", archived: true } },
    { type: "session", session: "a", row: { ...row, id: "a", ended: 6 } },
    { type: "session", session: "b", row },
    { type: "session", session: "b", row: { ...row, updated: 4, archived: true } },
  ]) {
    assert.equal(isOpenAfter(event), false, JSON.stringify(event));
  }
});

test("a question that a turn ended with outlives other changes", () => {
  for (const event of [
    { type: "state", session: "b", state: "running" },
    { type: "session", session: "a", row: { ...row, id: "a" } },
    { type: "session", session: "b", row: { ...row, updated: 4 } },
    { type: "session", session: "b", row: { ...row, root: "b", ended: 6 } },
  ]) {
    assert.equal(isOpenAfter(event), true, JSON.stringify(event));
  }
});
