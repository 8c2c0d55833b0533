#!/usr/bin/env bash
# Fetches public Metal and CUDA sources and prints how K-Search's front end, simulator and analysis do on them. Nothing of them is kept in
# the project. Needs git, cargo, python3 with pip, and the network.
#
#   scripts/corpora.sh                  everything
#   scripts/corpora.sh candle mlx      only these: candle mlx ggml metal-sci agree verdicts cuda
#   scripts/corpora.sh --fetch          fetch, and no more
#   scripts/corpora.sh quick            one case of each MLX kernel whose source the wheel carries (continuous integration)
#
# KSEARCH is the program (default: the newest build of this tree); what is fetched goes to KSEARCH_CORPORA
# (default: the project's cache folder).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

root="${KSEARCH_CORPORA:-$KSEARCH_CACHE/corpora}"
mlx_version=0.32.4
candle_version=0.11.1
# The half of metal-sci that this project was developed on; nothing of the other half is fetched.
tasks="saxpy heat2d nbody fft3d lbm hmc"
mkdir -p "$root"

# Files of a public repository: clone NAME REVISION FOLDER PATTERN...; without that revision, its main branch.
clone() {
  local name=$1 revision=$2 into=$3
  shift 3
  [ -d "$into/.git" ] && return 0
  rm -rf "$into"
  git clone -q --filter=blob:none --no-checkout "https://github.com/$name.git" "$into" || return 1
  git -C "$into" sparse-checkout set --no-cone "$@"
  if ! git -C "$into" checkout -q "$revision" 2>/dev/null; then
    say "corpora: $name has no $revision; taking its main branch"
    git -C "$into" checkout -q || return 1
  fi
}

fetch_candle() {
  local made="$root/candle-fetch"
  [ -d "$root/candle" ] && return 0
  mkdir -p "$made/src"
  touch "$made/src/lib.rs"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\ncandle-metal-kernels = "=%s"\n' \
    "$candle_version" >"$made/Cargo.toml"
  (cd "$made" && cargo vendor -q vendor >/dev/null) || return 1
  cp -r "$made/vendor/candle-metal-kernels/src/metal_src" "$root/candle"
  rm -rf "$made"
}

# MLX's kernel headers, from the wheel.
fetch_wheel() {
  local tree="$root/mlx-headers"
  [ -d "$tree" ] && return 0
  python3 -m pip download -q --no-deps --only-binary=:all: --platform macosx_15_0_arm64 --python-version 3.12 \
    -d "$root/mlx-wheel" "mlx-metal==$mlx_version" >&2 || return 1
  rm -rf "$tree.part"
  mkdir -p "$tree.part"
  python3 - "$root/mlx-wheel" "$tree.part" <<'PY'
import pathlib, sys, zipfile
wheel = next(pathlib.Path(sys.argv[1]).glob("*.whl"))
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        if name.startswith("mlx/include/mlx/backend/metal/kernels/") and not name.endswith("/"):
            to = pathlib.Path(sys.argv[2]) / name.removeprefix("mlx/include/")
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(z.read(name))
PY
  mv "$tree.part" "$tree"
}

# The headers with the sources that instantiate them, which the wheel does not carry, from the repository.
fetch_mlx() {
  local tree="$root/mlx" own
  [ -d "$tree" ] && return 0
  fetch_wheel || return 1
  clone ml-explore/mlx "v$mlx_version" "$root/mlx-git" '/mlx/backend/metal/kernels/**/*.metal' '/mlx/backend/metal/kernels/*.metal' ||
    return 1
  rm -rf "$tree.part"
  cp -r "$root/mlx-headers" "$tree.part"
  (cd "$root/mlx-git" && find mlx -name '*.metal' -exec cp --parents {} "$tree.part" \;)
  # Families whose templates the repository's sources do not fit, or that MLX instantiates at run time: our own lines.
  for own in scripts/corpora/mlx/*.metal; do
    find "$tree.part" -name "$(basename "$own")" -delete
    cp "$own" "$tree.part/mlx/backend/metal/kernels/"
  done
  mv "$tree.part" "$tree"
}

fetch_ggml() {
  [ -d "$root/ggml" ] && return 0
  clone ggml-org/ggml master "$root/ggml-git" /src/ggml-metal/ /src/ggml-common.h || return 1
  mkdir -p "$root/ggml.part"
  cp "$root"/ggml-git/src/ggml-metal/*.metal "$root"/ggml-git/src/ggml-metal/ggml-metal-impl.h "$root/ggml-git/src/ggml-common.h" \
    "$root/ggml.part"
  mv "$root/ggml.part" "$root/ggml"
}

fetch_metal-sci() {
  local patterns=(/metal_kernels/harness.py /metal_kernels/task.py /metal_kernels/hardware.py) t
  for t in $tasks; do
    patterns+=("/metal_kernels/tasks/$t.py" "/seeds/$t.metal" "/results/${t}_*/")
  done
  clone vicgalle/metal-sci-kernels main "$root/metal-sci" "${patterns[@]}"
}

# CUDA kernels whose analyses are pinned, at the commits that a person has read.
fetch_cuda() {
  clone karpathy/llm.c f1e2ace651495b74ae22d45d1723443fd00ecd3a "$root/cuda/llm.c" /dev/cuda/layernorm_forward.cu &&
    clone state-spaces/mamba e9594ce1c732d97440f0332fdc43170a2294dbfa "$root/cuda/mamba" \
      /csrc/selective_scan/selective_scan_fwd_kernel.cuh &&
    clone NVIDIA/cuda-samples c94ff366aed18c797b8a85dfaac7817b0228b420 "$root/cuda/cuda-samples" \
      /Samples/2_Concepts_and_Techniques/{shfl_scan,histogram,threadFenceReduction}/
}

cuda_analyses() {
  KSEARCH_PUBLIC_CUDA="$(cd "$root/cuda" && pwd)" cargo test -q -p ksearch-port --test public -- --ignored --nocapture | grep "as pinned"
}

# Python with NumPy and MLX for the CPU.
venv="$KSEARCH_CACHE/mlx-venv"
ensure_python() {
  "$venv/bin/python" -c 'import mlx.core, numpy' 2>/dev/null && return 0
  python3 -m venv "$venv" && "$venv/bin/python" -m pip install -q numpy 'mlx[cpu]' >&2
}

only_fetch=false
if [ "${1:-}" = --fetch ]; then
  only_fetch=true
  shift
fi
wanted="${*:-candle mlx ggml metal-sci agree verdicts cuda}"
failed=0
results=()

program() { PYTHONPATH=scripts/corpora python3 -c 'import simulator; print(simulator.program())'; }

# Runs a check, shows what it prints, and keeps its last line for the table.
bar() {
  local name=$1 goal=$2 log
  shift 2
  log="$root/$name.txt"
  local word=ok
  "$@" >"$log" 2>&1 || word=MISSED
  cat "$log"
  [ $word = ok ] || failed=1
  results+=("$(printf '%-10s %-7s %s (wanted: %s)' "$name" "$word" "$(grep -E ' (of|compile)' "$log" | tail -n 1)" "$goal")")
}

# MLX's files that need Metal 4 are refused by name, and nothing else is.
mlx_files() {
  local log="$root/mlx-files.json"
  "$(program)" corpus check "$root/mlx" --json >"$log" || true
  python3 - "$log" <<'PY'
import json, sys
rows = json.load(open(sys.argv[1]))["files"]
nax = [r for r in rows if "_nax" in r["file"]]
rest = [r for r in rows if "_nax" not in r["file"]]
for r in rest:
    if not r["ok"]:
        print(f"  differs: {r['file']}: {r['diagnostics'][0]}")
clear = [r for r in nax if not r["ok"] and r["diagnostics"][0]["code"].startswith("unsupported")]
good = [r for r in rest if r["ok"]]
kernels = sum(len(r["entries"]) for r in good)
print(f"{len(good)} of {len(rest)} families with {kernels} kernels; {len(clear)} of {len(nax)} NAX files are `unsupported`")
sys.exit(len(good) != len(rest) or len(clear) != len(nax))
PY
}

# What cannot be fetched is not checked, and that is no pass.
fetched() {
  "$@" && return 0
  say "corpora: NOT CHECKED, cannot fetch for \`$name\`"
  failed=1
  return 1
}

for name in $wanted; do
  case $name in
    candle) fetched fetch_candle || continue ;;
    mlx) fetched fetch_mlx || continue ;;
    ggml) fetched fetch_ggml || continue ;;
    metal-sci) fetched fetch_metal-sci || continue ;;
    agree) { fetched fetch_mlx && fetched ensure_python; } || continue ;;
    verdicts) { fetched fetch_metal-sci && fetched ensure_python; } || continue ;;
    cuda) fetched fetch_cuda || continue ;;
    # 3: nothing was checked.
    quick) { fetched fetch_wheel && fetched ensure_python; } || exit 3 ;;
    *)
      say "corpora: there is no \`$name\`; there are candle mlx ggml metal-sci agree verdicts cuda"
      exit 2
      ;;
  esac
  $only_fetch && continue
  case $name in
    candle) bar candle "17 of 17" "$(program)" corpus check "$root/candle" ;;
    mlx) bar mlx "all but NAX" mlx_files ;;
    ggml) bar ggml "whole" "$(program)" corpus check "$root/ggml" ;;
    metal-sci) bar metal-sci "99% and 90%" python3 scripts/corpora/metal_sci.py "$root/metal-sci" --compile-only ;;
    agree) bar agree "all" "$venv/bin/python" scripts/corpora/mlx_agree.py "$root/mlx" ;;
    verdicts) bar verdicts "98%" "$venv/bin/python" scripts/corpora/metal_sci.py "$root/metal-sci" ;;
    cuda) bar cuda "as pinned" cuda_analyses ;;
    quick) bar quick "all" "$venv/bin/python" scripts/corpora/mlx_agree.py "$root/mlx-headers" --quick ;;
  esac
done
$only_fetch && exit $failed
echo
printf '%s\n' "${results[@]}"
exit $failed
