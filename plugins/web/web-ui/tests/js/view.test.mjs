import assert from "node:assert/strict";
import { test } from "node:test";

import { stepRuns } from "../../src/hookline_web_ui/static/js/view.js";

const step = (/** @type {string} */ title, /** @type {number|null} */ ms, more = {}) => ({ title, ms, detail: "", tone: "neutral", children: [], ...more });

test("short steps after each other are one run", () => {
  const quick = [1, 2, 3].map((n) => step(`quick ${n}`, 0.05));
  const steps = [...quick, step("slow", 900), quick[0], step("refused", 0.05, { tone: "bad" }), step("unknown", null)];
  assert.deepEqual(
    stepRuns(steps, 1000).map((run) => run.map((one) => one.title).join()),
    ["quick 1,quick 2,quick 3", "slow", "quick 1", "refused", "unknown"],
  );
});
