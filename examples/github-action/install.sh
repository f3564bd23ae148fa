#!/usr/bin/env bash
# Installs Hookline into an environment of its own, before any code of the pull request is read.
set -euo pipefail

if [[ -z "$PACKAGE" ]]; then
  command -v hookline >/dev/null || {
    echo "::error::hookline is not on the path. Set the input 'package'."
    exit 1
  }
  exit 0
fi
python3 -m venv "$RUNNER_TEMP/hookline-environment"
"$RUNNER_TEMP/hookline-environment/bin/pip" install --quiet --disable-pip-version-check "$PACKAGE"
echo "$RUNNER_TEMP/hookline-environment/bin" >>"$GITHUB_PATH"
