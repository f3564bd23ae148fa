#!/usr/bin/env bash
# Writes the review as one comment, which later runs update.
set -euo pipefail

comment="$RUNNER_TEMP/comment.md"
python3 "$GITHUB_ACTION_PATH/format_review.py" <"$RUNNER_TEMP/review.json" >"$comment"
cat "$comment" >>"$GITHUB_STEP_SUMMARY"

comments="repos/$REPOSITORY/issues/$PULL_REQUEST/comments"
mine='.[] | select(.user.type == "Bot" and (.body | startswith("<!-- hookline-review -->"))) | .id'
ids="$(gh api --paginate "$comments" --jq "$mine")"
id="${ids%%$'\n'*}"
if [[ -n "$id" ]]; then
  gh api --silent --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$comment"
else
  gh api --silent --method POST "$comments" --field "body=@$comment"
fi
