"""Runs MLX's own Metal kernels in K-Search's simulator and compares them with MLX on the CPU (`mlx[cpu]`), on several
shapes and types. DIR holds MLX's kernel sources as corpora.sh lays them out; arguments and grids are as MLX's host sets them."""

import argparse
import os
import struct
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mlx.core as mx
import numpy as np
import simulator

K = "mlx/backend/metal/kernels"
NAMES = {"float32": "float", "float16": "half", "bfloat16": "bfloat16_t"}
# Largest error, as a share of the largest value: a few units in the last place of the type, for kernels that
# accumulate in float, as all of these do. MLX's own softmax on the CPU is 6e-6 from the exact answer in float32.
TOLERANCE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}


def i32(*v):
    return struct.pack(f"<{len(v)}i", *v)


def i64(*v):
    return struct.pack(f"<{len(v)}q", *v)


def f32(*v):
    return struct.pack(f"<{len(v)}f", *v)


def raw(array):
    """An MLX array's bytes."""
    array = mx.contiguous(array)
    if array.dtype == mx.bfloat16:
        return bytearray(np.array(array.view(mx.uint16)).tobytes())
    return bytearray(np.array(array).tobytes())


def as_float(data, dtype):
    """Raw bytes of a type as float64."""
    if dtype == "bfloat16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return np.frombuffer(data, np.dtype(dtype)).astype(np.float64)


def values(array):
    array = array.astype(mx.float32) if array.dtype == mx.bfloat16 else array
    return np.array(array).astype(np.float64).ravel()


class Case:
    """One launch of one kernel with MLX's answer."""

    def __init__(self, family, label, dtype, source, kernel, args, sizes, expected, constants=None, slack=1.0):
        self.family, self.label, self.dtype = family, label, dtype
        self.source, self.kernel, self.args, self.sizes = source, kernel, args, sizes
        self.expected, self.constants, self.slack = expected, constants, slack

    def run(self, root, sanitize):
        buffers, given, out = {}, [], None
        for index, value in self.args.items():
            if isinstance(value, bytes):
                given.append({"index": index, "hex": value.hex()})
                continue
            name = f"b{index}"
            if value == "out":
                out = name
                # Neither right nor plausible: what is not written shows.
                value = bytearray(b"\xff" * self.expected.nbytes)
            buffers[name] = value
            given.append({"index": index, "buffer": name})
        dispatch = {"kernel": self.kernel, "args": given, **self.sizes}
        simulator.run(self.source, buffers, [dispatch], includes=[root], constants=self.constants, sanitize=sanitize)
        kind = str(self.expected.dtype).split(".")[-1]
        got, want = as_float(buffers[out], kind), values(self.expected)
        if np.isnan(got).any() != np.isnan(want).any():
            return float("nan"), 0.0
        if not kind.startswith(("float", "bfloat")):
            return float(np.count_nonzero(got != want)), 0.0
        # An exclusive maximum starts at minus infinity, which has no distance to itself.
        if not np.array_equal(np.isinf(got), np.isinf(want)) or (got[np.isinf(got)] != want[np.isinf(want)]).any():
            return float("inf"), 0.0
        got, want = got[np.isfinite(got)], want[np.isfinite(want)]
        scale = max(float(np.max(np.abs(want))), 1e-30)
        return float(np.max(np.abs(got - want))) / scale, TOLERANCE[kind] * self.slack


def shim(headers, name, template):
    lines = ["#include <metal_stdlib>", "using namespace metal;"]
    lines += [f'#include "{K}/{h}"' for h in headers]
    return "\n".join(lines) + f'\ninstantiate_kernel("{name}", {template})\n'


def normal(rng, shape, dtype):
    return mx.array(rng.standard_normal(shape).astype(np.float32)).astype(getattr(mx, dtype))


def up(n, m):
    return (n + m - 1) // m * m


def threads(x, y, z, group):
    return {"threads": [x, y, z], "threadgroup": list(group)}


def groups(x, y, z, group):
    return {"groups": [x, y, z], "threadgroup": list(group)}


def softmax(rng):
    for dtype in NAMES:
        for rows, n in [(7, 100), (3, 1024), (2, 4095)]:
            x = normal(rng, (rows, n), dtype) * 4
            group = up(up(n, 4) // 4, 32)
            source = shim(["utils.h", "softmax.h"], "k", f"softmax_single_row, {NAMES[dtype]}, float")
            yield Case("softmax", f"{rows}x{n}", dtype, source, "k", {0: raw(x), 1: "out", 2: i32(n)},
                       threads(rows * group, 1, 1, (group, 1, 1)), mx.softmax(x, axis=-1, precise=True))
    x = normal(rng, (2, 9000), "float32")
    source = shim(["utils.h", "softmax.h"], "k", "softmax_looped, float, float")
    yield Case("softmax", "looped 2x9000", "float32", source, "k", {0: raw(x), 1: "out", 2: i32(9000)},
               threads(2048, 1, 1, (1024, 1, 1)), mx.softmax(x, axis=-1, precise=True))


def rms_norm(rng):
    for dtype in NAMES:
        for rows, n in [(5, 96), (2, 2048)]:
            x, w = normal(rng, (rows, n), dtype), normal(rng, (n,), dtype)
            group = up(up(n, 4) // 4, 32)
            source = f'#include "{K}/rms_norm.metal"\n'
            yield Case("rms_norm", f"{rows}x{n}", dtype, source, f"rms{dtype}",
                       {0: raw(x), 1: raw(w), 2: "out", 3: f32(1e-5), 4: i32(n), 5: i32(1)},
                       threads(rows * group, 1, 1, (group, 1, 1)), mx.fast.rms_norm(x, w, 1e-5))


def layer_norm(rng):
    for dtype in NAMES:
        # Whole simdgroups only: for other lengths MLX's kernel itself writes in front of a thread's array (`thread_x[i]`
        # from a negative `i` on, in threads past the row's end), which the simulator stops at.
        for rows, n in [(5, 256), (2, 2048)]:
            x, w, b = normal(rng, (rows, n), dtype) + 1, normal(rng, (n,), dtype), normal(rng, (n,), dtype)
            group = up(up(n, 8) // 8, 32)
            source = f'#include "{K}/layer_norm.metal"\n'
            yield Case("layer_norm", f"{rows}x{n}", dtype, source, f"layer_norm{dtype}",
                       {0: raw(x), 1: raw(w), 2: raw(b), 3: "out", 4: f32(1e-5), 5: i32(n), 6: i32(1), 7: i32(1)},
                       threads(rows * group, 1, 1, (group, 1, 1)), mx.fast.layer_norm(x, w, b, 1e-5))


def rope(rng):
    for dtype in NAMES:
        for traditional in (False, True):
            b, heads, length, d = 2, 3, 5, 32
            x = normal(rng, (b, heads, length, d), dtype)
            strides = i64(length * d, d, 1)
            args = {0: raw(x), 1: "out", 2: bytearray(i32(7)), 3: f32(1.0), 4: strides, 5: strides, 6: i64(0),
                    7: i32(heads), 10: f32(float(np.log2(10000.0)))}
            want = mx.fast.rope(x, d, traditional=traditional, base=10000.0, scale=1.0, offset=7)
            constants = {"1": "true", "2": str(traditional).lower(), "3": "false"}
            yield Case("rope", f"{b}x{heads}x{length}x{d}{' traditional' if traditional else ''}", dtype,
                       f'#include "{K}/rope.metal"\n', f"rope_{dtype}", args,
                       threads(d // 2, length, b * up(heads, 4) // 4, (d // 2, length, 2)), want, constants, slack=4)


def gemv(rng):
    for dtype in NAMES:
        for batch, out, inner in [(1, 64, 256), (3, 77, 130), (1, 9, 40)]:
            mat, vec = normal(rng, (batch, out, inner), dtype), normal(rng, (batch, inner, 1), dtype)
            bm, bn, sm, sn, tm, tn = 4, 1, 1, 32, 4, 4
            if inner <= 64:
                bm, sm, sn = 1, 8, 4
            elif inner >= 16 * out:
                bm, bn = 1, 8
            source = shim(["utils.h", "steel/utils.h", "gemv.h"], "k",
                          f"gemv, {NAMES[dtype]}, {bm}, {bn}, {sm}, {sn}, {tm}, {tn}, false, false")
            args = {0: raw(mat), 1: raw(vec), 2: raw(vec), 3: "out", 4: i32(inner), 5: i32(out), 6: i32(inner), 7: f32(1),
                    8: f32(0), 9: i32(1), 10: i32(batch), 11: i64(inner), 12: i64(out * inner), 13: i64(0), 14: i32(1)}
            per_group = bm * sm * tm
            yield Case("gemv", f"{batch}x{out}x{inner}", dtype, source, "k", args,
                       groups(up(out, per_group) // per_group, 1, batch, (32, bn, bm)), exact_product(mat, vec), slack=2)


def exact_product(a, b):
    """The product as MLX's CPU computes it in float, rounded once: its half-precision products round as they go."""
    return (a.astype(mx.float32) @ b.astype(mx.float32)).astype(a.dtype)


def steel_gemm_fused(rng):
    bm = bn = 64
    bk, wm, wn = 16, 2, 2
    for dtype in NAMES:
        for m, n, k, ta, tb in [(64, 64, 32, False, False), (70, 45, 37, False, True), (33, 128, 64, True, False)]:
            a = normal(rng, (k, m) if ta else (m, k), dtype)
            b = normal(rng, (n, k) if tb else (k, n), dtype)
            tiles_n, tiles_m = up(n, bn) // bn, up(m, bm) // bm
            params = i32(m, n, k, a.shape[1], b.shape[1], n, tiles_n, tiles_m)
            params += i64(m * k, n * k, m * n) + i32(0, k // bk, 1) + bytes(4)
            flag = lambda x: "true" if x else "false"  # noqa: E731
            constants = {"10": "false", "100": "false", "110": "false", "200": flag(m % bm == 0),
                         "201": flag(n % bn == 0), "202": flag(k % bk == 0)}
            source = shim(["utils.h", "steel/gemm/gemm.h", "steel/gemm/kernels/steel_gemm_fused.h"], "k",
                          f"gemm, {NAMES[dtype]}, {bm}, {bn}, {bk}, {wm}, {wn}, {flag(ta)}, {flag(tb)}, float")
            yield Case("steel_gemm_fused", f"{m}x{n}x{k} {'t' if ta else 'n'}{'t' if tb else 'n'}", dtype, source, "k",
                       {0: raw(a), 1: raw(b), 3: "out", 4: params}, groups(tiles_n, tiles_m, 1, (32, wn, wm)),
                       exact_product(a.T if ta else a, b.T if tb else b), constants, slack=2)


def heads_of(rng, dtype, b, h, kv, ql, kl, d):
    return normal(rng, (b, h, ql, d), dtype), normal(rng, (b, kv, kl, d), dtype), normal(rng, (b, kv, kl, d), dtype)


def attention_of(q, k, v, scale, causal):
    wide = [x.astype(mx.float32) for x in (q, k, v)]
    got = mx.fast.scaled_dot_product_attention(*wide, scale=scale, mask="causal" if causal else None)
    return got.astype(q.dtype)


def steel_attention(rng):
    for dtype in NAMES:
        for b, h, kv, ql, kl, d, causal in [(1, 2, 2, 32, 64, 64, False), (2, 2, 1, 50, 77, 64, True), (1, 1, 1, 40, 40, 128, True)]:
            q, k, v = heads_of(rng, dtype, b, h, kv, ql, kl, d)
            bq, bk = 32, 32 if d < 128 else 16
            nq, nk = up(ql, bq) // bq, up(kl, bk) // bk
            scale = d**-0.5
            params = i32(b, h, d, ql, kl, h // kv) + f32(scale) + i32(nq, nk, ql // bq, kl // bk, ql % bq, kl % bk, kl - ql)
            for heads, length in [(h, ql), (kv, kl), (kv, kl), (h, ql)]:
                params += i64(heads * length * d, length * d, d)
            flag = lambda x: "true" if x else "false"  # noqa: E731
            constants = {"200": flag(ql % bq == 0), "201": flag(kl % bk == 0), "300": "false", "301": flag(causal),
                         "302": "false", "303": "false"}
            source = shim(["utils.h", "steel/attn/kernels/steel_attention.h"], "k",
                          f"attention, {NAMES[dtype]}, {bq}, {bk}, {d}, {d}, 4, 1, {NAMES[dtype]}, float")
            yield Case("steel_attention", f"{b}x{h}/{kv}x{ql}x{kl}x{d}{' causal' if causal else ''}", dtype, source, "k",
                       {0: raw(q), 1: raw(k), 2: raw(v), 3: "out", 4: params}, groups(nq, h, b, (32, 4, 1)),
                       attention_of(q, k, v, scale, causal), constants, slack=4)


def sdpa_vector(rng):
    for dtype in NAMES:
        for b, h, kv, ql, kl, d, causal in [(1, 4, 2, 1, 100, 64, False), (2, 2, 2, 3, 65, 128, True)]:
            q, k, v = heads_of(rng, dtype, b, h, kv, ql, kl, d)
            flag = lambda x: "true" if x else "false"  # noqa: E731
            constants = {"20": "false", "21": "false", "22": flag(causal), "23": "false", "24": "false", "25": "false"}
            args = {0: raw(q), 1: raw(k), 2: raw(v), 3: "out", 4: i32(h // kv), 5: i32(kl), 6: i64(kl * d), 7: i64(d),
                    8: i64(kl * d), 9: i64(d), 10: f32(d**-0.5)}
            source = shim(["utils.h", "sdpa_vector.h"], "k", f"sdpa_vector, {NAMES[dtype]}, {d}, {d}")
            yield Case("sdpa_vector", f"{b}x{h}/{kv}x{ql}x{kl}x{d}{' causal' if causal else ''}", dtype, source, "k", args,
                       groups(b * h, ql, 1, (1024, 1, 1)), attention_of(q, k, v, d**-0.5, causal), constants, slack=4)


def reduce_row(rng):
    headers = ["utils.h", "atomic.h", "reduction/ops.h", "reduce.h"]
    for dtype, op, answer in [("float32", "Sum", mx.sum), ("float16", "Max", mx.max), ("bfloat16", "Min", mx.min),
                              ("float32", "Prod", mx.prod)]:
        for rows, n in [(9, 300), (64, 1500)]:
            x = normal(rng, (rows, n), dtype)
            if op == "Prod":
                x = 1 + 0.01 * x
            group = 32 if n <= 512 else 128 if n <= 1024 else min(up(up(n, 4) // 4, 32), 1024)
            t = NAMES[dtype]
            source = shim(headers, "k", f"row_reduce_simple, {t}, {t}, {op}<{t}>, int64_t")
            yield Case("reduce_row", f"{op} {rows}x{n}", dtype, source, "k", {0: raw(x), 1: "out", 2: i64(n), 3: i64(rows)},
                       threads(group, up(rows, 4) // 4, 1, (group, 1, 1)), answer(x, axis=-1), slack=20)


def scan(rng):
    for dtype, op, answer in [("float32", "CumSum", mx.cumsum), ("float16", "CumMax", mx.cummax), ("int32", "CumSum", mx.cumsum)]:
        for rows, n, inclusive, reverse in [(3, 100, True, False), (2, 1000, False, False), (2, 5000, True, True)]:
            if dtype == "int32":
                x = mx.array(rng.integers(-9, 9, (rows, n)).astype(np.int32))
            else:
                x = normal(rng, (rows, n), dtype)
            t = NAMES.get(dtype, "int32_t")
            flag = lambda v: "true" if v else "false"  # noqa: E731
            source = shim(["defines.h", "utils.h", "scan.h"], "k",
                          f"contiguous_scan, {t}, {t}, {op}<{t}>, 4, {flag(inclusive)}, {flag(reverse)}")
            group = min(up(n, 128) // 4 if n <= 4096 else up(n // 2, 128) // 4, 1024)
            yield Case("scan", f"{op} {rows}x{n}{'' if inclusive else ' exclusive'}{' reverse' if reverse else ''}", dtype, source,
                       "k", {0: raw(x), 1: "out", 2: i64(n)}, threads(group, rows, 1, (group, 1, 1)),
                       answer(x, axis=-1, inclusive=inclusive, reverse=reverse), slack=20)


def arg_reduce(rng):
    for dtype, name, answer in [("float32", "argmax", mx.argmax), ("float16", "argmin", mx.argmin), ("bfloat16", "argmax", mx.argmax),
                                ("int32", "argmin", mx.argmin)]:
        for rows, n in [(6, 50), (3, 3000)]:
            if dtype == "int32":
                x = mx.array(rng.integers(-10000, 10000, (rows, n)).astype(np.int32))
            else:
                x = normal(rng, (rows, n), dtype)
            group = up(min(up(n, 4) // 4, 1024), 32)
            args = {0: raw(x), 1: "out", 2: i32(rows), 3: i64(n), 4: i64(1), 5: i64(1), 6: i64(1), 7: i64(n)}
            yield Case("arg_reduce", f"{name} {rows}x{n}", dtype, f'#include "{K}/arg_reduce.metal"\n', f"{name}_{dtype}", args,
                       threads(group, rows, 1, (group, 1, 1)), answer(x, axis=-1))


def quantized(rng):
    headers = ["utils.h", "steel/gemm/gemm.h", "quantized_utils.h", "quantized.h"]
    for dtype in NAMES:
        for m, n, k, size in [(1, 64, 512, 64), (2, 24, 1024, 32), (1, 20, 256, 64)]:
            w = normal(rng, (n, k), "float32").astype(getattr(mx, dtype))
            packed, scales, biases = mx.quantize(w, group_size=size, bits=4)
            x = normal(rng, (m, k), dtype)
            fast = n % 8 == 0 and k % 512 == 0
            source = shim(headers, "k", f"{'affine_qmv_fast' if fast else 'affine_qmv'}, {NAMES[dtype]}, {size}, 4, false")
            whole = mx.dequantize(packed, scales.astype(mx.float32), biases.astype(mx.float32), group_size=size, bits=4)
            want = (x.astype(mx.float32) @ whole.T).astype(x.dtype)
            args = {0: raw(packed), 1: raw(scales), 2: raw(biases), 3: raw(x), 4: "out", 5: i32(k), 6: i32(n), 7: i32(1), 8: i32(m),
                    9: i64(k), 10: i32(1), 11: i32(n), 12: i64(k), 13: i64(k), 14: i64(k)}
            yield Case("quantized qmv", f"{'fast ' if fast else ''}{m}x{n}x{k} group {size}", dtype, source, "k", args,
                       groups(m, up(n, 8) // 8, 1, (32, 2, 1)), want, slack=4)


# Families whose source the wheel does not carry.
REPOSITORY = {rms_norm: "rms_norm", layer_norm: "layer_norm", rope: "rope", arg_reduce: "arg_reduce"}
FAMILIES = [softmax, rms_norm, layer_norm, rope, gemv, steel_gemm_fused, steel_attention, sdpa_vector, reduce_row, scan,
            arg_reduce, quantized]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, metavar="DIR")
    parser.add_argument("--only", default="", help="families whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="one case of each family")
    parser.add_argument("--sanitize", action="store_true", help="watch with every sanitizer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    mx.set_default_device(mx.cpu)
    cases = []
    for family in FAMILIES:
        if family in REPOSITORY and not (args.root / K / f"{REPOSITORY[family]}.metal").is_file():
            print(f"left out: {family.__name__}, whose source is not in {args.root}")
        elif args.only in family.__name__:
            made = list(family(np.random.default_rng(1)))
            cases += made[:1] if args.quick else made
    for case in cases:
        mx.eval(case.expected)

    def one(case):
        try:
            error, allowed = case.run(args.root, args.sanitize)
            return error, allowed, "" if error <= allowed else "too far off"
        except simulator.Refused as e:
            return float("nan"), 0.0, str(e)
        except Exception:
            return float("nan"), 0.0, traceback.format_exc(limit=1).strip().splitlines()[-1]

    good, table = 0, {}
    with ThreadPoolExecutor(args.jobs) as pool:
        for case, (error, allowed, why) in zip(cases, pool.map(one, cases)):
            good += not why
            row = table.setdefault(case.family, {}).setdefault(case.dtype, [0, 0, 0.0])
            row[0] += not why
            row[1] += 1
            if not why:
                row[2] = max(row[2], error)
            word = "ok  " if not why else "FAIL"
            print(f"{word} {case.family:17} {case.label:34} {case.dtype:9} error {error:.1e} of {allowed:.1e} {why}", flush=True)
    print("\nLargest error, as a share of the largest value (cases that agree, of all):")
    columns = list(dict.fromkeys([*NAMES, *(case.dtype for case in cases)]))
    print(f"{'':17} " + "".join(f"{dtype:20}" for dtype in columns))
    for family, by_type in table.items():
        cells = {dtype: f"{worst:.1e} ({ok} of {total})" for dtype, (ok, total, worst) in by_type.items()}
        print(f"{family:17} " + "".join(f"{cells.get(dtype, '-'):20}" for dtype in columns))
    print(f"{good} of {len(cases)} agree with MLX {mx.__version__} on the CPU")
    return int(good != len(cases) or not cases)


if __name__ == "__main__":
    sys.exit(main())
