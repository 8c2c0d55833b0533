#!/usr/bin/env bash
# Installs what is missing and runs every test. Extra arguments go to the test runner.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
ensure_rust
ensure_clang
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --workspace --locked --no-fail-fast "$@"
else
  cargo test --workspace --locked --no-fail-fast "$@"
fi
