#!/usr/bin/env bash
# Checks exported modules inside real MLX and mlx-lm on the CPU. Fetches them into the project's cache; exits with 3 where it cannot.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh
venv="$KSEARCH_CACHE/mlx-venv"
if ! "$venv/bin/python" -c 'import mlx.core, mlx_lm, numpy' 2>/dev/null; then
  say "setup: fetching MLX (CPU) into $venv"
  python3 -m venv "$venv" 2>/dev/null || {
    as_root apt-get install -y -qq python3-venv >/dev/null 2>&1 && python3 -m venv "$venv"
  } || { say "mlx: NOT CHECKED, no Python with venv here"; exit 3; }
  case "$(uname -s)" in Darwin) package=mlx ;; *) package='mlx[cpu]' ;; esac
  "$venv/bin/python" -m pip install -q "$package" mlx-lm numpy >&2 || { say "mlx: NOT CHECKED, MLX cannot be fetched"; exit 3; }
fi
"$venv/bin/python" scripts/mlx/check_export.py "${1:-target/debug/ksearch}" kernels
