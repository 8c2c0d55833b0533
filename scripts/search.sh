#!/usr/bin/env bash
# One command from a fresh clone to a searched kernel: installs what is missing, builds, and runs `ksearch search`.
#   scripts/search.sh attention
#   scripts/search.sh selective_scan --target sim:m3-max
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
ensure_rust
ensure_clang
cargo build --release --locked -p ksearch >&2
exec target/release/ksearch search "${@:-attention}"
