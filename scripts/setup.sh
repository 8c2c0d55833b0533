# Sourced by the other scripts: brings a fresh machine to the point where K-Search builds and runs.
# Asks for nothing, never needs root: what the system's package manager may not install goes to the project's own cache.

KSEARCH_CACHE="${KSEARCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ksearch}"
export KSEARCH_CACHE

say() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root where that needs no password; fails otherwise.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif have sudo && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

ensure_rust() {
  [ -d "$HOME/.cargo/bin" ] && PATH="$HOME/.cargo/bin:$PATH"
  if ! have cargo; then
    say "setup: installing Rust with rustup"
    if ! have curl; then as_root apt-get install -y -qq curl ca-certificates >&2 || true; fi
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain none >&2
    PATH="$HOME/.cargo/bin:$PATH"
  fi
  if ! have cc && ! have gcc && ! have clang; then
    say "setup: a C compiler is needed to build SQLite"
    { as_root apt-get update -qq && as_root apt-get install -y -qq gcc libc6-dev; } >&2 || {
      say "setup: no C compiler and no right to install one; install gcc or clang (on macOS: xcode-select --install)"
      return 2
    }
  fi
}

# A clang with the "C++ for OpenCL" mode: version 16 or newer.
clang_is_good() {
  printf '__kernel void k(__global float* x) { x[0] = 1.0f; }' |
    "$1" -x clcpp -cl-std=clc++2021 -target spir64 -emit-llvm -S -o - - >/dev/null 2>&1
}

find_clang() {
  local c
  for c in "${KSEARCH_CLANG:-}" clang-22 clang-21 clang-20 clang-19 clang-18 clang-17 clang-16 clang \
    /opt/homebrew/opt/llvm/bin/clang /usr/local/opt/llvm/bin/clang; do
    [ -n "$c" ] || continue
    c=$(command -v "$c" 2>/dev/null) || continue
    if clang_is_good "$c"; then
      printf '%s' "$c"
      return 0
    fi
  done
  return 1
}

have_ziglang() { [ -x "$KSEARCH_CACHE/ziglang/ziglang/zig" ]; }

ensure_clang() {
  find_clang >/dev/null && return 0
  have_ziglang && return 0
  local package
  if have apt-get && as_root true; then
    as_root apt-get update -qq >/dev/null 2>&1 || true
    for package in clang-19 clang-18 clang-17 clang-16; do
      as_root apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 || continue
      find_clang >/dev/null && { say "setup: installed $package"; return 0; }
    done
  elif have brew; then
    say "setup: brew install llvm"
    brew install llvm >&2 || true
    find_clang >/dev/null && return 0
  fi
  say "setup: no clang 16 or newer may be installed here; fetching the ziglang wheel (a whole clang) into $KSEARCH_CACHE"
  mkdir -p "$KSEARCH_CACHE/ziglang"
  python3 -m pip install -q --no-deps --target "$KSEARCH_CACHE/ziglang" ziglang >&2 || {
    say "setup: that failed too; install clang 16 or newer, or set KSEARCH_CLANG to one"
    return 2
  }
}

# Node and Chromium, for tests of what is seen in a browser. Optional: the product needs neither.
ensure_browser() {
  local c
  if ! have node || ! have npm; then
    have apt-get && as_root apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null 2>&1 || true
  fi
  CHROMIUM="${CHROMIUM:-}"
  for c in chromium chromium-browser google-chrome; do
    [ -n "$CHROMIUM" ] || CHROMIUM=$(command -v "$c" 2>/dev/null || true)
  done
  if [ -z "$CHROMIUM" ] && have apt-get && as_root true; then
    as_root apt-get update -qq >/dev/null 2>&1 || true
    as_root apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || true
    CHROMIUM=$(command -v chromium 2>/dev/null || true)
  fi
  export CHROMIUM
  have node && have npm && [ -n "$CHROMIUM" ] && return 0
  say "setup: no Node.js with npm or no Chromium, and no right to install them (Debian: apt install nodejs npm chromium)"
  return 1
}
