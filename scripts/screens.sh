#!/usr/bin/env bash
# Makes the images of the README from a run: `scripts/screens.sh [RUNS RUN]`. Without arguments it searches for one first.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
ensure_browser
ensure_rust
ensure_clang
cargo build --locked -p ksearch
ksearch="${CARGO_TARGET_DIR:-target}/debug/ksearch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 2 ]; then
  runs=$1 run=$2
else
  runs=$work/runs run=attention-1
  "$ksearch" --runs "$runs" search attention --quiet >/dev/null
fi
mkdir -p docs/img
"$ksearch" --runs "$runs" report "$run" --out "$work/report.html" >/dev/null
for plot in waterfall progress; do
  "$ksearch" --runs "$runs" report "$run" --format svg --plot "$plot" --out "docs/img/$plot.svg" >/dev/null
done
(cd crates/report/browser && npm ci --silent --no-audit --no-fund)
node crates/report/browser/screens.mjs "$work/report.html" docs/img
ls -l docs/img >&2
