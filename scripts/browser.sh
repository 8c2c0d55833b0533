#!/usr/bin/env bash
# Opens a report and the dashboard of a real run in a real browser. Says so and ends with 3 where there is no browser.
# Usage: scripts/browser.sh [RUNS RUN]; without arguments it searches for a run of its own (about a minute).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
ensure_browser || { say "browser tests: NOT RUN, see above"; exit 3; }
ensure_rust
ensure_clang
# KSEARCH names a program that is built already.
if [ -z "${KSEARCH:-}" ]; then
  cargo build --locked -p ksearch
  KSEARCH="$PWD/${CARGO_TARGET_DIR:-target}/debug/ksearch"
  [ -x "$KSEARCH" ] || KSEARCH="${CARGO_TARGET_DIR}/debug/ksearch"
fi
export KSEARCH ARTIFACTS="${ARTIFACTS:-$PWD/artifacts/browser}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 2 ]; then
  cp -r "$1" "$work/runs"
  RUN=$2
else
  "$KSEARCH" --runs "$work/runs" search softmax --evaluations 8 --quiet >/dev/null
  RUN=softmax-1
fi
export RUN RUNS="$work/runs"
(cd crates/report/browser && npm ci --silent --no-audit --no-fund) || { say "browser tests: NOT RUN, npm cannot fetch playwright-core"; exit 3; }
(cd crates/report/browser && npm test)
say "browser tests: screenshots are in $ARTIFACTS"
