#!/usr/bin/env bash
# Type-checks on any system what is compiled on macOS only (the Metal runtimes). Says so and ends with 3 where the
# standard library for that target cannot be had. Nothing is linked, so C parts of dependencies are not compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
ensure_rust
target=aarch64-apple-darwin
have rustup && rustup target add "$target" >/dev/null 2>&1 || { say "macOS: NOT CHECKED, no standard library for $target"; exit 3; }
nothing=$(mktemp)
trap 'rm -f "$nothing"' EXIT
printf '#!/bin/sh\nexit 0\n' >"$nothing"
chmod +x "$nothing"
export CC_aarch64_apple_darwin=$nothing CXX_aarch64_apple_darwin=$nothing AR_aarch64_apple_darwin=$nothing
cargo clippy --locked --target "$target" -p ksearch-mamba -p ksearch-device -- -D warnings
say "macOS: checked"
