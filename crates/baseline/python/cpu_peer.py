"""One library implementation in a process of its own: asked over stdin and stdout, one JSON object a line.

Arguments: the peer's name, the number of threads, the folder with the inputs of one workload as raw little-endian f32
files and `workload.json`. First line out: {"ready": true, "versions": {...}} or {"absent": "why"}. Then for each line in:
"answer" writes out.bin, "time" gives {"us": ..., "calls": ..., "wall": ..., "cpu": ...}.
"""
import ctypes
import json
import os
import subprocess
import sys
import time

PEER, THREADS, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(THREADS)


def say(**fields):
    print(json.dumps(fields), flush=True)


class Absent(Exception):
    """The peer cannot be had here."""


def load():
    import numpy as np
    with open(os.path.join(FOLDER, "workload.json")) as file:
        workload = json.load(file)
    tensors = {n: np.fromfile(os.path.join(FOLDER, n + ".bin"), "<f4").reshape(s) for n, s in workload["inputs"].items()}
    return np, workload["task"], workload["values"], tensors


def attention(np, values, t):
    causal, scale = bool(values["causal"]), float(values["scale"])
    q, k, v = t["q"], t["k"], t["v"]
    if causal and q.shape[2] != k.shape[2]:
        raise Absent("the library aligns causal masks of unequal lengths elsewhere")
    grouped = q.shape[1] != k.shape[1]
    if PEER == "torch":
        import torch
        import torch.nn.functional as F
        torch.set_num_threads(THREADS)
        q, k, v = map(torch.from_numpy, (q, k, v))

        def call():
            with torch.inference_mode():
                return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
        return call, lambda o: o.numpy(), {"torch": torch.__version__}
    if PEER == "mlx":
        import mlx.core as mx
        mx.set_default_device(mx.cpu)
        q, k, v = map(mx.array, (q, k, v))
        mx.eval(q, k, v)

        def call():
            o = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask="causal" if causal else None)
            mx.eval(o)
            return o
        return call, np.array, {"mlx": mx.__version__}
    raise Absent("it has no attention")


def scan(np, values, t):
    wanted = {"u", "delta", "A", "B", "C", "D", "z", "delta_bias"}
    if set(t) != wanted or values["groups"] != 1 or not values["delta_softplus"] or values["has_final_state"]:
        raise Absent("it is written for all of D, z, delta_bias, softplus, one group and no states kept")
    batch, dim, length = t["u"].shape
    states = t["A"].shape[1]
    if PEER == "simd-c":
        if batch != 1 or states != 16:
            raise Absent("it is compiled for one sequence and 16 states")
        source = os.path.join(FOLDER, "simd_scan.c")
        library = os.path.join(FOLDER, "simd_scan.so")
        flags = "-O3 -march=native -mprefer-vector-width=512 -ffast-math -fopenmp -shared -fPIC".split()
        try:
            version = subprocess.check_output(["gcc", "--version"], text=True).splitlines()[0]
            subprocess.check_call(["gcc", *flags, source, "-o", library, "-lm", "-lmvec"])
        except (OSError, subprocess.CalledProcessError) as error:
            raise Absent(f"gcc: {error}")
        function = ctypes.CDLL(library).scan
        out = np.empty((1, dim, length), "<f4")
        at = lambda a: a.ctypes.data_as(ctypes.c_void_p)
        pointers = [at(t[n]) for n in ("u", "delta", "A", "B", "C", "D", "z", "delta_bias")] + [at(out)]

        def call():
            function(*pointers, dim, length, THREADS)
            return out
        return call, lambda o: o, {"gcc": version}
    if PEER in ("torch", "mambapy"):
        import torch
        import torch.nn.functional as F
        torch.set_num_threads(THREADS)
        turn = lambda a: torch.from_numpy(np.ascontiguousarray(np.moveaxis(a, -1, 1)))
        u, delta, z = turn(t["u"]), turn(t["delta"]), turn(t["z"])
        B, C = turn(t["B"][:, 0]), turn(t["C"][:, 0])
        A, D, bias = (torch.from_numpy(t[n]) for n in ("A", "D", "delta_bias"))
        versions = {"torch": torch.__version__}
        if PEER == "torch":
            def call():
                with torch.inference_mode():
                    dt = F.softplus(delta + bias)
                    du, state, ys = dt * u, torch.zeros(batch, dim, states), []
                    for i in range(length):
                        state.mul_((dt[:, i, :, None] * A).exp_()).addcmul_(du[:, i, :, None], B[:, i, None, :])
                        ys.append(torch.matmul(state, C[:, i, :, None])[..., 0])
                    return (torch.stack(ys, 1) + D * u) * F.silu(z)
        else:
            from mambapy.pscan import pscan
            import importlib.metadata
            versions["mambapy"] = importlib.metadata.version("mambapy")

            def call():
                with torch.inference_mode():
                    dt = F.softplus(delta + bias)
                    decay = torch.exp(dt.unsqueeze(-1) * A)
                    added = dt.unsqueeze(-1) * B.unsqueeze(2) * u.unsqueeze(-1)
                    y = (pscan(decay, added) @ C.unsqueeze(-1)).squeeze(3)
                    return (y + D * u) * F.silu(z)
        return call, lambda o: np.ascontiguousarray(np.moveaxis(o.numpy(), 1, -1)), versions
    if PEER == "mlx":
        import mlx.core as mx
        mx.set_default_device(mx.cpu)
        turn = lambda a: mx.array(np.ascontiguousarray(np.moveaxis(a, -1, 1)))
        u, delta, z = turn(t["u"]), turn(t["delta"]), turn(t["z"])
        B, C = turn(t["B"][:, 0]), turn(t["C"][:, 0])
        A, D, bias = (mx.array(t[n]) for n in ("A", "D", "delta_bias"))
        mx.eval(u, delta, z, B, C, A, D, bias)

        @mx.compile
        def step(state, dt, du, b, c):
            state = state * mx.exp(dt[..., None] * A) + du[..., None] * b[:, None, :]
            return state, (state * c[:, None, :]).sum(-1)

        def call():
            dt = mx.logaddexp(delta + bias, 0.0)
            du, state, ys = dt * u, mx.zeros((batch, dim, states)), []
            for i in range(length):
                state, y = step(state, dt[:, i], du[:, i], B[:, i], C[:, i])
                ys.append(y)
            o = (mx.stack(ys, axis=1) + D * u) * z * mx.sigmoid(z)
            mx.eval(o)
            return o
        return call, lambda o: np.ascontiguousarray(np.moveaxis(np.array(o), 1, -1)), {"mlx": mx.__version__}
    raise Absent("it has no selective scan")


def main():
    try:
        np, task, values, tensors = load()
        make = {"attention": attention, "selective_scan": scan}.get(task)
        if make is None:
            raise Absent(f"no implementation of {task} is known")
        call, plain, versions = make(np, values, tensors)
        versions["python"] = sys.version.split()[0]
    except (ImportError, OSError, Absent) as error:
        say(absent=f"{error}")
        return
    call()
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    calls = max(1, min(60, int(0.12 / max(once, 1e-6))))
    say(ready=True, versions=versions)
    for line in sys.stdin:
        if line.strip() == "answer":
            np.ascontiguousarray(plain(call()), "<f4").tofile(os.path.join(FOLDER, PEER + ".out.bin"))
            say(done=True)
            continue
        if calls > 1:
            call()  # wakes the library's threads
        cpu, start = time.process_time(), time.perf_counter()
        for _ in range(calls):
            call()
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        say(us=wall / calls * 1e6, calls=calls, wall=wall, cpu=cpu)


main()
