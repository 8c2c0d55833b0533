_DTYPES = {
    "f32": mx.float32,
    "f16": mx.float16,
    "bf16": mx.bfloat16,
    "i32": mx.int32,
    "u32": mx.uint32,
    "u8": mx.uint8,
}
_MSL = {"f32": "float", "f16": "half", "bf16": "bfloat", "i32": "int", "u32": "uint", "u8": "uchar"}
_SCALARS = {
    "float": mx.float32, "half": mx.float16, "int": mx.int32, "uint": mx.uint32, "int32_t": mx.int32,
    "uint32_t": mx.uint32, "short": mx.int16, "ushort": mx.uint16, "char": mx.int8, "uchar": mx.uint8,
    "long": mx.int64, "ulong": mx.uint64, "int64_t": mx.int64, "uint64_t": mx.uint64, "bool": mx.bool_,
    "unsigned": mx.uint32, "size_t": mx.uint64,
}
# MLX moves arrays of fewer elements into constant memory, where a kernel's device pointers cannot point.
_LEAST = 8


class Unfit(ValueError):
    """Why the kernel does not serve these arguments."""


def _flag(x):
    return 1 if x else 0


def _div(a, b):
    return a // b if isinstance(a, int) and isinstance(b, int) else a / b


def _rem(a, b):
    return a % b if isinstance(a, int) and isinstance(b, int) else math.fmod(a, b)


def _ceil_div(a, b):
    return -(-a // b)


def _round_up(a, b):
    return _ceil_div(a, b) * b


def _bytes(dtype):
    return {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "u32": 4, "u8": 1}[dtype]


def _literal(value):
    if isinstance(value, str):
        return _MSL[value]
    text = str(value) if isinstance(value, int) else f"{value!r}f"
    return f"({text})" if value < 0 else text


def _dtype_name(array):
    for name, dtype in _DTYPES.items():
        if array.dtype == dtype:
            return name
    raise TypeError(f"{array.dtype} arrays are not taken; use one of {', '.join(_DTYPES)}")


def _resolve(arrays, given):
    """Every name that the recipe uses, from the arrays' shapes and the scalar arguments. Wrong arguments are a
    TypeError or ValueError; right ones that the kernel was not proven for are Unfit."""
    s = {}
    for name, _, dtype, shape, when in _TENSORS:
        array = arrays.get(name)
        if array is None:
            continue
        if len(array.shape) != len(shape):
            raise ValueError(f"{name} has {len(array.shape)} axes; it takes {len(shape)}")
        if isinstance(dtype, str):
            s.setdefault(dtype, _dtype_name(array))
        for extent, axis in zip(array.shape, shape):
            if isinstance(axis, str):
                s.setdefault(axis, extent)
    s.update(given)
    unfit = None
    for name, kind, allowed, default in _SYMBOLS:
        if name not in s:
            if default is None:
                raise TypeError(f"{name} is not given and follows from no array")
            s[name] = default(s)
        value = s[name]
        if kind == "flag":
            s[name] = _flag(value)
        elif kind == "real":
            s[name] = float(value)
        elif kind == "int":
            least, most, values = allowed
            if not least <= value <= most or (values and value not in values):
                span = f"one of {values}" if values else f"{least} to {most}"
                unfit = unfit or f"{name} is {value}, and the kernel was proven for {span}"
        elif value not in allowed:
            unfit = unfit or f"{name} is {value}, and the kernel was proven for {', '.join(allowed)}"
    for name, value in _DERIVED:
        s[name] = value(s)
    for holds, why in _CONSTRAINTS:
        if not holds(s):
            raise ValueError(f"these arguments do not fit together: {why}")
    for name, role, dtype, shape, when in _TENSORS:
        array = arrays.get(name)
        wanted = when is None or when(s)
        if role != "output" and wanted and array is None:
            raise TypeError(f"{name} is needed with these arguments")
        if array is None:
            continue
        extents = tuple(s[a] if isinstance(a, str) else a(s) for a in shape)
        if tuple(array.shape) != extents:
            raise ValueError(f"{name} has shape {tuple(array.shape)}; with the other arrays it must be {extents}")
        must = s[dtype] if isinstance(dtype, str) else dtype(s)
        if _dtype_name(array) != must:
            raise ValueError(f"{name} is {_dtype_name(array)}; with the other arrays it must be {must}")
    if unfit:
        raise Unfit(unfit)
    for name, value in _TUNABLES.items():
        s[name] = value
    return s


def _defines(s):
    lines = [f"#define {name} {value}" for name, value in _TUNABLES.items()]
    for name, kind, value in _DEFINES:
        if kind == "expr":
            number = value(s)
            s.setdefault(name, number)
            lines.append(f"#define {name} {_literal(number)}")
        elif kind == "type":
            lines.append(f"#define {name} {_MSL[_dtype_of(value, s)]}")
        else:
            lines.append(f"#define {name} {value}")
    for holds, why in _REQUIRES:
        if not holds(s):
            raise Unfit(why)
    return lines


def _dtype_of(tensor, s):
    dtype = next(t[2] for t in _TENSORS if t[0] == tensor)
    return s[dtype] if isinstance(dtype, str) else dtype(s)


_kernels = {}
_scalars = {}


def _kernel(number, lines):
    dispatch = _DISPATCHES[number]
    header = "\n".join(lines) + "\n" + _HEADER
    key = (number, header)
    if key not in _kernels:
        # The name carries the macros: MLX keeps compiled kernels by name.
        name = f"ksearch_{dispatch['kernel']}_{zlib.crc32(header.encode()):08x}"
        _kernels[key] = mx.fast.metal_kernel(
            name=name,
            input_names=[i[0] for i in dispatch["inputs"]],
            output_names=[o[0] for o in dispatch["outputs"]],
            header=header,
            source=dispatch["source"],
        )
    return _kernels[key]


def _scalar(kind, value):
    key = (kind, value)
    if key not in _scalars:
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[key] = mx.array(value, dtype=_SCALARS[kind])
    return _scalars[key]


def _input(array):
    if array.size >= _LEAST:
        return array
    return mx.pad(array.reshape(-1), (0, _LEAST - array.size))


def _launch(arrays, s):
    """Runs every dispatch in order; the outputs by name."""
    lines = _defines(s)
    held = {name: a for name, a in arrays.items() if a is not None}
    for name, role, dtype, shape, when in _TENSORS:
        if role == "input" and name not in held:
            # An optional array that is not there; the kernel must not read it.
            held[name] = mx.zeros((_LEAST,), dtype=_DTYPES[_dtype_of(name, s)])
    for number, dispatch in enumerate(_DISPATCHES):
        if dispatch["when"] is not None and not dispatch["when"](s):
            continue
        more = [f"#define {name} {size(s)}" for name, size in dispatch["threadgroup_bytes"]]
        inputs = []
        for _, kind, *what in dispatch["inputs"]:
            if kind == "scalar":
                inputs.append(_scalar(what[0], what[1](s)))
            else:
                inputs.append(_input(held[what[0]]))
        shapes, dtypes, names = [], [], []
        for _, kind, name in dispatch["outputs"]:
            names.append(name)
            if kind == "scratch":
                shapes.append((max(1, _ceil_div(_SCRATCH[name](s), 4)),))
                dtypes.append(mx.uint32)
                continue
            _, _, dtype, shape, when = next(t for t in _TENSORS if t[0] == name)
            there = when is None or when(s)
            extents = tuple(s[a] if isinstance(a, str) else a(s) for a in shape)
            shapes.append(extents if there else (_LEAST,))
            dtypes.append(_DTYPES[_dtype_of(name, s)])
        threads = [n(s) for n in dispatch["threadgroup"]]
        grid = [n(s) * t for n, t in zip(dispatch["grid"], threads)]
        results = _kernel(number, lines + more)(
            inputs=inputs, output_shapes=shapes, output_dtypes=dtypes, grid=tuple(grid), threadgroup=tuple(threads)
        )
        held.update(zip(names, results))
    return held


_said = set()


def _run(arrays, given):
    try:
        s = _resolve(arrays, given)
        if not (mx.metal.is_available() or getattr(mx.fast.metal_kernel, "simulated", False)):
            raise Unfit("there is no Metal device")
        held = _launch(arrays, s)
    except Unfit as why:
        if _plain is None:
            raise
        if str(why) not in _said:
            _said.add(str(why))
            warnings.warn(f"{_TASK}: plain MLX instead of the kernel: {why}", stacklevel=3)
        return _plain(arrays, given)
    outputs = [name for name, role, _, _, when in _TENSORS if role == "output" and (when is None or when(s))]
    results = tuple(held[name] for name in outputs)
    return results[0] if len(results) == 1 else results
