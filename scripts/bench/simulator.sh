#!/usr/bin/env bash
# Speed of the simulator beside Oclgrind and PoCL: the same arithmetic, one core, one run. Installs nothing; says what is
# missing. PYTHON names an interpreter that has pyopencl and numpy.
#
#   apt-get install oclgrind pocl-opencl-icd && python3 -m pip install pyopencl numpy
set -euo pipefail
cd "$(dirname "$0")/../.."
python="${PYTHON:-python3}"

echo "# $(date -u +%Y-%m-%d), $(uname -sm), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)"
cargo bench -q -p ksearch-simt --bench speed -- --json

if ! "$python" -c 'import pyopencl, numpy' 2>/dev/null; then
  echo "missing: pyopencl and numpy for $python (python3 -m pip install pyopencl numpy); PoCL and Oclgrind were not run" >&2
  exit 2
fi
# Wheels of pyopencl bring a loader of their own that looks elsewhere.
export OCL_ICD_VENDORS="${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"
export POCL_MAX_PTHREAD_COUNT=1 PYOPENCL_NO_CACHE=1
missing=0
"$python" scripts/bench/simulator_peers.py Portable scripts/bench/simulator.cl || {
  echo "missing: PoCL (apt-get install pocl-opencl-icd)" >&2
  missing=2
}
if command -v oclgrind >/dev/null; then
  oclgrind --num-threads 1 "$python" scripts/bench/simulator_peers.py Oclgrind scripts/bench/simulator.cl
else
  echo "missing: Oclgrind (apt-get install oclgrind)" >&2
  missing=2
fi
exit "$missing"
