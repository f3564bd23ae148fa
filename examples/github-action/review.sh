#!/usr/bin/env bash
# Asks the model about the change and writes $RUNNER_TEMP/review.json.
set -euo pipefail

export HOOKLINE_HOME="$RUNNER_TEMP/hookline"
mkdir -p -m 700 "$HOOKLINE_HOME"
cp "$GITHUB_ACTION_PATH/config.yaml" "$HOOKLINE_HOME/config.yaml"
if [[ ! "$API_KEY_VARIABLE" =~ ^[A-Z][A-Z0-9_]*_(KEY|TOKEN)$ ]]; then
  echo "::error::api-key-variable: expected a name such as ANTHROPIC_API_KEY"
  exit 1
fi
export "$API_KEY_VARIABLE=$API_KEY"
unset API_KEY

change="$RUNNER_TEMP/change.diff"
git diff --no-color --no-ext-diff "$BASE_SHA...HEAD" >"$change"
if [[ ! -s "$change" ]]; then
  echo '{"summary": "There is no change.", "findings": []}' >"$RUNNER_TEMP/review.json"
else
  limits=(--max-turns "$MAX_TURNS")
  if [[ -n "$MAX_COST" ]]; then limits+=(--max-cost "$MAX_COST"); fi
  # The mode `ask` with nobody to ask: whatever is more than reading is refused.
  hookline run --model "$MODEL" --mode ask --no-input --no-wait "${limits[@]}" \
    --output-schema "$GITHUB_ACTION_PATH/review.schema.json" \
    "$PROMPT" <"$change" >"$RUNNER_TEMP/review.json"
fi
findings="$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["findings"]))' \
  <"$RUNNER_TEMP/review.json")"
echo "findings=$findings" >>"$GITHUB_OUTPUT"
