"""Times the attention kernels of this folder beside PyTorch's backends with 32 heads, or as many as the argument says:
`python3 attention_torch.py 8`. Three more are settings of the kernel for f32, warps, keys and tiles: `attention_torch.py 32 4 32 2`.

Needs PyTorch, CuPy and nvcc on an NVIDIA GPU. CUDA events around each call, L2 flushed before it, kernel and backends in turns, the
median of 15; `error` is of the first head, relative, against f64. The judge's own tests are `ksearch eval`.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

import cupy
import numpy
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

HERE = pathlib.Path(__file__).parent
LENGTH, ROUNDS = 4096, 15
HEADS = int(sys.argv[1]) if len(sys.argv) > 1 else 32
WARPS, KEYS, TILES = map(int, sys.argv[2:5]) if len(sys.argv) > 4 else (8, 32, 1)


def kernel(file, name, defines, threads, shared):
    includes = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    text = includes + "".join(f"#define {k} {v}\n" for k, v in defines.items()) + (HERE / file).read_text()
    with tempfile.TemporaryDirectory() as folder:
        source, binary = (str(pathlib.Path(folder) / name) for name in ("kernel.cu", "kernel.cubin"))
        pathlib.Path(source).write_text(text)
        subprocess.run(["nvcc", "-std=c++17", "-arch=sm_90a", "-cubin", "-o", binary, source], check=True)
        function = cupy.RawModule(path=binary).get_function(name)
        function.max_dynamic_shared_size_bytes = shared
    return lambda grid, arguments: function(grid, threads, arguments, shared_mem=shared)


def split(dim):
    rows = 16 * TILES * WARPS
    shared = 4 * ((rows + KEYS) * (dim + (40 - dim % 32) % 32) + KEYS * (dim + (20 - dim % 16) % 16))
    defines = {"T": "float", "D": dim, "SPLIT_KEYS": KEYS, "SPLIT_WARPS": WARPS, "SPLIT_TILES": TILES}
    run = kernel("attention_split.cu", "attention_split", defines, (32 * WARPS, 1, 1), shared)
    return run, (HEADS, LENGTH // rows, 1)


def warpgroups(dim):
    consumers, stages, keys = 2, 2, 128
    shared = 128 * consumers * dim + 4 * stages * keys * dim + 1024
    defines = {"T": "half", "D": dim, "WIDTH": dim, "KEYS": keys, "STAGES": stages, "CONSUMERS": consumers}
    run = kernel("attention_warpgroups.cu", "attention", defines, (128 * (consumers + 1), 1, 1), shared)
    return run, (HEADS, -(-LENGTH // (64 * consumers)), 1)


def main():
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    torch.manual_seed(7)
    for dtype, dim in [(torch.float16, 64), (torch.float16, 128), (torch.float32, 64), (torch.float32, 128)]:
        wide = dtype is torch.float32
        run, grid = (split if wide else warpgroups)(dim)
        backends = ["EFFICIENT_ATTENTION"] if wide else ["FLASH_ATTENTION", "CUDNN_ATTENTION"]
        for causal in [False, True]:
            q, k, v = (torch.randn(1, HEADS, LENGTH, dim, device="cuda").to(dtype) for _ in range(3))
            out = torch.full_like(q, float("nan"))
            pointers = [numpy.uint64(t.data_ptr()) for t in (q, k, v, out)]
            integers = [numpy.int32(n) for n in (HEADS, HEADS, LENGTH, LENGTH)]
            arguments = (*pointers, *integers, numpy.float32(dim**-0.5), numpy.int32(causal))

            def ours(arguments=arguments):
                with stream:
                    run(grid, arguments)

            calls = {"ours": ours}
            for backend in backends:

                def library(backend=getattr(SDPBackend, backend)):
                    with sdpa_kernel(backend):
                        return scaled_dot_product_attention(q, k, v, is_causal=causal)

                calls[backend.split("_")[0].lower()] = library
            times = {name: [] for name in calls}
            for turn in range(ROUNDS + 2):
                for name, call in calls.items():
                    flush.zero_()
                    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                    begin.record()
                    call()
                    end.record()
                    torch.cuda.synchronize()
                    if turn >= 2:
                        times[name].append(begin.elapsed_time(end) * 1e3)
            with sdpa_kernel(SDPBackend.MATH):
                first = [t[:, :1].double() for t in (q, k, v)]
                right = scaled_dot_product_attention(*first, is_causal=causal)
            error = ((out[:, :1] - right).norm() / right.norm()).item()
            median = {name: statistics.median(t) for name, t in times.items()}
            each = " ".join(f"{name} {t:.0f} us" for name, t in median.items())
            ratios = " ".join(f"{name}/ours {t / median['ours']:.3f}" for name, t in median.items() if name != "ours")
            shape = f"f{32 if wide else 16} heads {HEADS} length {LENGTH} head {dim} {'causal' if causal else 'full'}"
            print(f"{shape}: {each} | {ratios} | error {error:.1e}", flush=True)


if __name__ == "__main__":
    main()
