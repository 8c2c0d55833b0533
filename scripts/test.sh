#!/usr/bin/env bash
# Installs what is missing and runs every test. Extra arguments go to the test runner, and then only that runs.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
ensure_rust
ensure_clang
status=0
unchecked=
if [ $# = 0 ]; then
  cargo build --workspace --locked
  # 3: what is needed cannot be fetched here; that is said at the end, and is not a pass.
  KSEARCH=$(realpath "${CARGO_TARGET_DIR:-target}/debug/ksearch")
  export KSEARCH
  scripts/mlx/check.sh "$KSEARCH" || { [ $? = 3 ] && unchecked="exported modules inside MLX"; } || status=1
  scripts/check-macos.sh || { [ $? = 3 ] && unchecked="${unchecked:+$unchecked; }types of what is compiled on macOS only"; } || status=1
  scripts/corpora.sh quick ||
    { [ $? = 3 ] && unchecked="${unchecked:+$unchecked; }MLX's own kernels against MLX"; } || status=1
  scripts/browser.sh || { [ $? = 3 ] && unchecked="${unchecked:+$unchecked; }report and dashboard in a browser"; } || status=1
fi
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --workspace --locked --no-fail-fast "$@" || status=1
else
  cargo test --workspace --locked --no-fail-fast "$@" || status=1
fi
[ -z "$unchecked" ] || say "NOT CHECKED on this machine: $unchecked"
exit "$status"
