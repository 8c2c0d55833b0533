#!/bin/sh
# Regenerates the .ll files beside the .cl sources. CLANG may name another clang (16 or newer).
set -eu
cd "$(dirname "$0")"
for f in "${@:-*.cl}"; do
  for src in $f; do
    "${CLANG:-clang-19}" -x clcpp -cl-std=clc++2021 -cl-no-stdinc -target spir64 -O2 -gline-tables-only -emit-llvm -S \
      -ffp-contract=fast -fno-math-errno -fno-trapping-math -freciprocal-math -fno-signed-zeros -fno-vectorize \
      -fno-slp-vectorize -fdebug-compilation-dir=. -Wno-unused-value "$src" -o "${src%.cl}.ll"
  done
done
