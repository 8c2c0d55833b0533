#!/usr/bin/env bash
# Type-checks the part of target `metal` that calls the Metal API (crates/device/src/metal/objc.rs) on Linux: against the
# real bindings, with the line dropped that would link Apple's framework, and Objective-C's runtime taken from GNUstep's
# interface. Nothing is linked or run.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src"
cat > "$work/Cargo.toml" <<EOF
[package]
name = "metal-check"
version = "0.0.0"
edition = "2024"

[dependencies]
objc2 = { version = "0.6.5", features = ["gnustep-2-1"] }
$(sed -n '/^objc2-/p' crates/device/Cargo.toml)

[patch.crates-io]
objc2-metal = { path = "bindings" }

[workspace]
EOF
cat > "$work/src/lib.rs" <<EOF
#[path = "$root/crates/device/src/metal/gpu.rs"]
pub mod gpu;
#[path = "$root/crates/device/src/metal/objc.rs"]
pub mod objc;
EOF
version=$(sed -n 's/^objc2-metal = { version = "\([0-9.]*\)".*/\1/p' crates/device/Cargo.toml)
mkdir "$work/fetch" "$work/fetch/src"
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\nobjc2-metal = { version = "=%s", default-features = false }\n[workspace]\n' "$version" > "$work/fetch/Cargo.toml"
: > "$work/fetch/src/lib.rs"
cargo vendor --quiet --manifest-path "$work/fetch/Cargo.toml" "$work/vendor" > /dev/null
cp -r "$work/vendor/objc2-metal" "$work/bindings"
find "$work/bindings" -name '*.rs' -exec sed -i '/^#\[link(name = "[A-Za-z]*", kind = "framework")\]$/d' {} +
rm -f "$work/bindings/.cargo-checksum.json"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}/metal cargo check --quiet --manifest-path "$work/Cargo.toml"
echo "metal: type-checked"
