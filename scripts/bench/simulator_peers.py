"""Times the benchmark kernels on one OpenCL platform, in processor time of one thread. Prints one JSON line a kernel.

usage: simulator_peers.py PLATFORM KERNELS.cl   (PLATFORM: part of its name, e.g. "Portable" or "Oclgrind")
"""

import json
import sys
import time

import numpy as np
import pyopencl as cl

# name, work items, local size, loop length, floating operations, most seconds to spend
FAST = {"fma": 1 << 15, "naive": 256, "tiled": 1024}
SLOW = {"fma": 256, "naive": 64, "tiled": 64}


def main():
    wanted, path = sys.argv[1], sys.argv[2]
    platform = next((p for p in cl.get_platforms() if wanted.lower() in p.name.lower()), None)
    if platform is None:
        sys.exit(f"no OpenCL platform is called {wanted}; there are: {[p.name for p in cl.get_platforms()]}")
    device = platform.get_devices()[0]
    ctx = cl.Context([device])
    queue = cl.CommandQueue(ctx)
    options = ["-cl-fast-relaxed-math", "-cl-mad-enable"]
    program = cl.Program(ctx, open(path, encoding="utf-8").read()).build(options=options)
    size = SLOW if "oclgrind" in platform.name.lower() else FAST
    rng = np.random.default_rng(0)
    flags = cl.mem_flags

    def run(name, inputs, items, n, flops, instructions):
        buffers = [cl.Buffer(ctx, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=i) for i in inputs]
        out = cl.Buffer(ctx, flags.WRITE_ONLY, inputs[0].nbytes)
        kernel = cl.Kernel(program, name)
        kernel.set_args(*buffers, out, np.uint32(n))
        local = min(64, items)

        def once():
            start = time.process_time()
            cl.enqueue_nd_range_kernel(queue, kernel, (items,), (local,))
            queue.finish()
            return time.process_time() - start

        once()  # compiles
        best = min(once() for _ in range(3 if size is SLOW else 7))
        host = np.empty_like(inputs[0])
        cl.enqueue_copy(queue, host, out)
        queue.finish()
        assert np.isfinite(host).all() and np.any(host), f"{name} computed nothing on {platform.name}"
        row = {"kernel": name, "platform": f"{platform.name.strip()} {platform.version.strip()}", "seconds": best}
        row["gflops"] = flops / best / 1e9
        if instructions:
            row["glane_instructions_per_s"] = instructions / best / 1e9
        print(json.dumps(row), flush=True)

    items, n = size["fma"], 256
    x = rng.uniform(-0.5, 0.5, items).astype(np.float32)
    run("fma_loop", [x], items, n, items * n * 64.0, items * n * 32.0)
    for name, key, per_pair in [("attention_naive", "naive", 6 * 64.0), ("attention_tiled", "tiled", 5 * 64.0)]:
        rows = size[key]
        data = [rng.uniform(-0.5, 0.5, rows * 64).astype(np.float32) for _ in range(3)]
        run(name, data, rows, rows, rows * rows * per_pair, None)


main()
