#!/usr/bin/env bash
# Fuzzes the front end's pre-pass, the IR reader and the machine, one after another, for SECONDS each (600).
# usage: scripts/fuzz.sh [SECONDS] [TARGET…]      Needs a nightly compiler and cargo-fuzz; installs neither.
#
# Short runs of the same oracles are ordinary tests (crates/simt-fuzz, crates/msl/tests/robustness.rs).
set -euo pipefail
cd "$(dirname "$0")/.."
seconds="${1:-600}"
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- prepass reader machine
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
  echo "missing: rustup toolchain install nightly && cargo install cargo-fuzz" >&2
  exit 2
fi
for target in "$@"; do
  echo "== $target, $seconds s"
  # What is found new stays out of the seeds that the repository keeps.
  mkdir -p "target/fuzz-corpus/$target"
  cargo +nightly fuzz run "$target" "target/fuzz-corpus/$target" "fuzz/corpus/$target" -- \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=8192
done
