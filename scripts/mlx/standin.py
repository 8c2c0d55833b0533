"""A stand-in for `mx.fast.metal_kernel` where there is no Metal: writes the signature that MLX would write around a body,
runs the kernel in K-Search's simulator with every sanitizer, and gives MLX arrays back.

    import standin
    standin.install("path/to/ksearch")

What it copies of MLX (0.32, `metal_kernel`'s documentation): names found in the body decide which attributes and which
`_shape`, `_strides`, `_ndim` arguments a kernel gets; arrays of fewer than eight elements are in constant memory, those
without axes are references; the grid is in threads.
"""

import json
import os
import subprocess
import tempfile

import mlx.core as mx
import numpy as np

ATTRIBUTES = {
    "dispatch_quadgroups_per_threadgroup": "uint", "dispatch_simdgroups_per_threadgroup": "uint",
    "dispatch_threads_per_threadgroup": "uint3", "grid_origin": "uint3", "grid_size": "uint3",
    "quadgroup_index_in_threadgroup": "uint", "quadgroups_per_threadgroup": "uint",
    "simdgroup_index_in_threadgroup": "uint", "simdgroups_per_threadgroup": "uint",
    "thread_execution_width": "uint", "thread_index_in_quadgroup": "uint", "thread_index_in_simdgroup": "uint",
    "thread_index_in_threadgroup": "uint", "thread_position_in_grid": "uint3",
    "thread_position_in_threadgroup": "uint3", "threadgroup_position_in_grid": "uint3",
    "threadgroups_per_grid": "uint3", "threads_per_grid": "uint3", "threads_per_simdgroup": "uint",
    "threads_per_threadgroup": "uint3",
}
TYPES = {
    mx.float32: ("float", "f32"), mx.float16: ("float16_t", "f16"), mx.bfloat16: ("bfloat16_t", "bf16"),
    mx.int32: ("int32_t", "i32"), mx.uint32: ("uint32_t", "u32"), mx.uint8: ("uint8_t", "u8"), mx.int64: ("int64_t", None),
    mx.uint64: ("uint64_t", None), mx.int16: ("int16_t", None), mx.uint16: ("uint16_t", None), mx.bool_: ("bool", None),
    mx.int8: ("int8_t", None),
}
PREFIX = "#include <metal_stdlib>\nusing namespace metal;\ntypedef half float16_t;\n"


class Kernel:
    """What `mx.fast.metal_kernel` gives: call it with arrays and a grid."""

    ksearch = "ksearch"
    target = "sim:m1-max"
    #: Kernels run so far, for tests that must know that one ran.
    runs = 0

    def __init__(self, name, input_names, output_names, source, header="", ensure_row_contiguous=True, atomic_outputs=False):
        if atomic_outputs:
            raise NotImplementedError("the stand-in knows no atomic outputs")
        self.name, self.inputs, self.outputs = name, list(input_names), list(output_names)
        self.source, self.header = source, header

    def text(self, arrays, dtypes):
        params, index = [], 0
        for name, a in zip(self.inputs, arrays):
            space = "constant" if a.size < 8 else "device"
            mark = "&" if a.ndim == 0 else "*"
            params.append(f"const {space} {TYPES[a.dtype][0]}{mark} {name} [[buffer({index})]]")
            index += 1
            for suffix in ("_shape", "_strides", "_ndim"):
                if name + suffix in self.source:
                    raise NotImplementedError(f"the stand-in does not pass {name}{suffix}")
        for name, dtype in zip(self.outputs, dtypes):
            params.append(f"device {TYPES[dtype][0]}* {name} [[buffer({index})]]")
            index += 1
        for attribute, kind in ATTRIBUTES.items():
            if attribute in self.source:
                params.append(f"{kind} {attribute} [[{attribute}]]")
        signature = ",\n    ".join(params)
        return f"{PREFIX}{self.header}\n[[kernel]] void {self.name}(\n    {signature}) {{\n{self.source}\n}}\n"

    def __call__(self, *, inputs, output_shapes, output_dtypes, grid, threadgroup, template=None, init_value=None,
                 verbose=False, stream=None):
        if template or init_value is not None:
            raise NotImplementedError("the stand-in takes neither templates nor initial values")
        arrays = [a if isinstance(a, mx.array) else mx.array(a) for a in inputs]
        with tempfile.TemporaryDirectory() as folder:
            path = lambda n: os.path.join(folder, n)
            with open(path("kernel.metal"), "w") as f:
                f.write(self.text(arrays, output_dtypes))
            threads = [min(g, t) for g, t in zip(grid, threadgroup)]
            if any(g % t for g, t in zip(grid, threads)):
                raise NotImplementedError("the stand-in takes whole threadgroups")
            groups = [g // t for g, t in zip(grid, threads)]
            command = [self.ksearch, "run", path("kernel.metal"), "--json", "--sanitize", "--target", self.target,
                       "--grid", ",".join(map(str, groups)), "--threads", ",".join(map(str, threads))]
            for name, a in zip(self.inputs, arrays):
                if a.ndim == 0:
                    command += ["--scalar", f"{name}={a.item()}"]
                    continue
                np.save(path(name + ".npy"), np.ascontiguousarray(np.array(a)))
                command += ["--buffer", f"{name}={path(name + '.npy')}"]
            for name, shape, dtype in zip(self.outputs, output_shapes, output_dtypes):
                extents = "x".join(map(str, shape)) or "1"
                command += ["--out", f"{name}={path('out_' + name + '.npy')}:{TYPES[dtype][1]}:{extents}"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 1 and only_unwritten(done.stdout):
                # An optional output that is not wanted; values are compared by whoever called.
                command.remove("--sanitize")
                done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{self.name}: {done.stdout}{done.stderr}")
            Kernel.runs += 1
            return [mx.array(np.load(path("out_" + n + ".npy"))).reshape(s) for n, s in zip(self.outputs, output_shapes)]


def only_unwritten(report):
    """Is all that the sanitizers found wrong an output that nothing was written to?"""
    try:
        findings = json.loads(report)["findings"]
    except (ValueError, KeyError):
        return False
    errors = [f for f in findings if f["severity"] == "error"]
    return bool(errors) and all(f["rule"] == "output_never_written" for f in errors)


def metal_kernel(**arguments):
    return Kernel(**arguments)


metal_kernel.simulated = True


def install(ksearch):
    """Puts the stand-in in MLX's place."""
    Kernel.ksearch = ksearch
    mx.fast.metal_kernel = metal_kernel
