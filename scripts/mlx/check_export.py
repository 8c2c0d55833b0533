"""Checks what `ksearch export --format mlx` writes, inside real MLX on the CPU, with the kernels run by the simulator.

    python3 check_export.py KSEARCH FOLDER        FOLDER holds kernels of the repository (kernels/)

Every exported function must give what plain MLX gives, and must fall back with a reason where it does not serve."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings

import mlx.core as mx
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import standin

ksearch, kernels = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
folder = tempfile.mkdtemp()
standin.install(ksearch)
mx.random.seed(7)


def load(task, source):
    out = os.path.join(folder, f"{task}_{len(os.listdir(folder))}.py")
    subprocess.run([ksearch, "export", source, "--task", task, "--format", "mlx", "--out", out, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    spec = importlib.util.spec_from_file_location(task, out)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, getattr(module, task)


def normal(*shape, dtype=mx.float32):
    return mx.random.normal(shape).astype(dtype)


def agree(what, got, want, limit):
    got, want = (got, want) if isinstance(got, tuple) else ((got,), (want,))
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype, (what, g.shape, w.shape, g.dtype, w.dtype)
        g, w = np.array(g.astype(mx.float32)), np.array(w.astype(mx.float32))
        error = np.abs(g - w).max() / max(np.abs(w).max(), 1e-6)
        assert error <= limit, f"{what}: {error:.1e} of the output, {limit:.0e} allowed"
    print(f"  ok  {what}")


def kernel_ran(call):
    before = standin.Kernel.runs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = call()
    assert standin.Kernel.runs > before, "plain MLX answered, not the kernel"
    return result


def attention(source):
    module, f = load("attention", source)
    for dtype, limit in ((mx.float32, 1e-4), (mx.float16, 4e-3)):
        for b, hq, hkv, lq, lk, d, causal in ((1, 2, 2, 9, 33, 64, 0), (2, 4, 2, 7, 7, 64, 1), (1, 3, 1, 5, 21, 80, 1)):
            q, k, v = normal(b, hq, lq, d, dtype=dtype), normal(b, hkv, lk, d, dtype=dtype), normal(b, hkv, lk, d, dtype=dtype)
            got = kernel_ran(lambda: f(q, k, v, scale=0.2, causal=causal))
            want = mx.fast.scaled_dot_product_attention(q, k, v, scale=0.2, mask="causal" if causal else None)
            agree(f"attention {dtype} {(b, hq, hkv, lq, lk, d)} causal={causal}", got, want, limit)
    # Transposed arrays, as models have them.
    q = normal(1, 9, 2, 64).transpose(0, 2, 1, 3)
    agree("attention of transposed arrays", kernel_ran(lambda: f(q, q, q)), mx.fast.scaled_dot_product_attention(q, q, q, scale=64**-0.5), 1e-4)
    # What the kernel was not proven for goes to plain MLX, with a reason.
    q = normal(1, 2, 8, 48)
    before = standin.Kernel.runs
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        agree("attention of another width", f(q, q, q), mx.fast.scaled_dot_product_attention(q, q, q, scale=48**-0.5), 1e-4)
    assert standin.Kernel.runs == before and "D is 48" in str(said[0].message), [str(w.message) for w in said]
    for wrong, why in (((normal(1, 3, 8, 64), normal(1, 2, 8, 64), normal(1, 2, 8, 64)), "do not fit together"),
                       ((normal(1, 2, 8, 64), normal(1, 2, 9, 64), normal(1, 2, 8, 64)), "must be"),
                       ((normal(2, 8, 64), normal(1, 2, 8, 64), normal(1, 2, 8, 64)), "axes"),
                       ((normal(1, 2, 8, 64), normal(1, 2, 8, 64).astype(mx.float16), normal(1, 2, 8, 64)), "must be f32")):
        try:
            f(*wrong)
            raise AssertionError("taken")
        except ValueError as e:
            assert why in str(e), e
    print("  ok  attention refuses what does not fit")


def softmax(source):
    _, f = load("softmax", source)
    for dtype, limit in ((mx.float32, 1e-5), (mx.float16, 2e-3)):
        for r, c in ((5, 37), (1, 3), (64, 128)):
            x = normal(r, c, dtype=dtype)
            got = kernel_ran(lambda: f(x, scale=1.5))
            agree(f"softmax {dtype} {(r, c)}", got, mx.softmax(x.astype(mx.float32) * 1.5, axis=-1).astype(dtype), limit)


def selective_scan(source):
    module, f = load("selective_scan", source)
    for dtype, limit in ((mx.float32, 2e-4), (mx.float16, 4e-3)):
        for b, d, g, n, l, full in ((1, 8, 1, 16, 12, True), (2, 6, 2, 5, 33, False), (1, 4, 1, 16, 1, True)):
            u, delta = normal(b, d, l, dtype=dtype), (normal(b, d, l) * 0.5 - 2).astype(dtype)
            a, bb, c = -mx.exp(normal(d, n) * 0.5), normal(b, g, n, l, dtype=dtype), normal(b, g, n, l, dtype=dtype)
            more = {}
            if full:
                more = dict(D=normal(d), z=normal(b, d, l, dtype=dtype), delta_bias=normal(d) * 0.1, initial_state=normal(b, d, n), has_final_state=1)
            got = kernel_ran(lambda: f(u, delta, a, bb, c, **more))
            arrays = dict(u=u, delta=delta, A=a, B=bb, C=c, **{k: v for k, v in more.items() if k != "has_final_state"})
            want = module._plain(arrays, {"has_final_state": int(full)})
            agree(f"selective_scan {dtype} {(b, d, g, n, l)} {'with everything' if full else 'bare'}", got, want, limit)


for task, check in (("attention", attention), ("softmax", softmax), ("selective_scan", selective_scan)):
    found = sorted(p for p in os.listdir(os.path.join(kernels, task)) if p.endswith(".metal"))
    assert found, f"no kernels in {kernels}/{task}"
    for name in found:
        print(f"{task}/{name}")
        check(os.path.join(kernels, task, name))
print(f"all exported kernels agree with MLX {mx.__version__ if hasattr(mx, '__version__') else ''}; {standin.Kernel.runs} kernel runs")

# The package for mlx-lm, inside mlx-lm.
sys.path.insert(0, folder)
for name in sorted(p for p in os.listdir(os.path.join(kernels, "selective_scan")) if p.endswith(".metal")):
    print(f"mlx-lm with selective_scan/{name}")
    package = os.path.join(folder, "ksearch_mamba")
    subprocess.run([ksearch, "export", os.path.join(kernels, "selective_scan", name), "--task", "selective_scan", "--format", "mlx-lm", "--out", package, "--quiet"], check=True, stdout=subprocess.DEVNULL)
    for loaded in [m for m in sys.modules if m.startswith("ksearch_mamba")]:
        del sys.modules[loaded]
    before = standin.Kernel.runs
    importlib.import_module("ksearch_mamba.test_parity").main()
    assert standin.Kernel.runs > before, "the kernel never ran"
