"""Library kernels as a process: one JSON object a line in, one out. Started with the name of the kernel and the workload;
answers {"ready": true, "versions": {...}} or {"ready": false, "reason": "..."}, then for each {"calls": n} the
microseconds of n calls, each after the L2 cache was overwritten. A kernel whose answer is not the textbook's, computed
in f32 on the same inputs, is not ready."""
import json
import math
import sys


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    name, workload = sys.argv[1], json.loads(sys.argv[2])
    try:
        import torch
    except ImportError as error:
        return say({"ready": False, "reason": f"PyTorch is not installed ({error})"})
    if not torch.cuda.is_available():
        return say({"ready": False, "reason": "PyTorch finds no CUDA device"})
    versions = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name()}
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[workload["T"]]
    make = lambda *shape: torch.randn(*shape, device="cuda").to(dtype)
    try:
        if name.startswith("torch-"):
            call, expected = attention(torch, name, workload, make)
        elif name == "mamba_ssm":
            call, expected = scan(torch, workload, make, versions)
        else:
            return say({"ready": False, "reason": f"there is no library kernel `{name}`"})
        off = distance(call(), expected())
        if not off < {"f32": 2e-3, "f16": 1e-2, "bf16": 5e-2}[workload["T"]]:
            return say({"ready": False, "reason": f"its answer is off by {off:.1e} of the largest value"})
        for _ in range(3):
            call()
        torch.cuda.synchronize()
    except Exception as error:
        return say({"ready": False, "reason": f"{type(error).__name__}: {error}"[:400]})
    cache = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    say({"ready": True, "versions": versions})
    for line in sys.stdin:
        calls = json.loads(line)["calls"]
        events = []
        for _ in range(calls):
            cache.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            events.append((start, end))
        torch.cuda.synchronize()
        say({"us": [1e3 * start.elapsed_time(end) for start, end in events]})


def distance(answer, expected):
    """Largest error over the largest value, of what `expected` covers: the first entry of the batch, or its first head."""
    while answer.dim() > expected.dim():
        answer = answer[0]
    return ((answer.float() - expected).abs().max() / expected.abs().max()).item()


def attention(torch, name, w, make):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    if w["causal"] and w["Lq"] != w["Lk"]:
        raise ValueError("PyTorch aligns a causal mask at the top left")
    backend = {
        "torch-flash": SDPBackend.FLASH_ATTENTION,
        "torch-efficient": SDPBackend.EFFICIENT_ATTENTION,
        "torch-cudnn": SDPBackend.CUDNN_ATTENTION,
        "torch-math": SDPBackend.MATH,
    }[name]
    q = make(w["B"], w["Hq"], w["Lq"], w["D"])
    k, v = make(w["B"], w["Hkv"], w["Lk"], w["D"]), make(w["B"], w["Hkv"], w["Lk"], w["D"])
    grouped = {"enable_gqa": True} if w["Hq"] != w["Hkv"] else {}

    scale = w.get("scale") or 1 / math.sqrt(w["D"])

    def call():
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=bool(w["causal"]), scale=scale, **grouped
            )

    def expected():
        logits = scale * (q[0, 0].float() @ k[0, 0].float().T)
        if w["causal"]:
            logits = logits.masked_fill(torch.ones_like(logits, dtype=torch.bool).triu(1), -math.inf)
        return logits.softmax(-1) @ v[0, 0].float()

    return call, expected


def scan(torch, w, make, versions):
    import selective_scan_cuda

    try:
        import mamba_ssm

        versions["mamba_ssm"] = mamba_ssm.__version__
    except ImportError:
        versions["mamba_ssm"] = "extension only"
    shape = (w["batch"], w["dim"], w["L"])
    matrices = (w["batch"], w["groups"], w["states"], w["L"])
    u, delta, B, C = make(*shape), make(*shape), make(*matrices), make(*matrices)
    if not w["delta_softplus"]:
        delta = delta.abs()  # A step back in time would grow beyond bounds.
    A = -torch.rand(w["dim"], w["states"], device="cuda")
    D = torch.randn(w["dim"], device="cuda") if w["has_D"] else None
    z = make(*shape) if w["has_z"] else None
    bias = torch.randn(w["dim"], device="cuda") if w["has_delta_bias"] else None
    if w["has_initial_state"]:
        raise ValueError("mamba_ssm's scan takes no initial state")

    def call():
        results = selective_scan_cuda.fwd(u, delta, A, B, C, D, z, bias, bool(w["delta_softplus"]))
        # With a gate the last one is the gated output, the first the one before it.
        return results[-1] if w["has_z"] else results[0]

    def expected():
        step = delta[0].float() + (0 if bias is None else bias[:, None])
        step = torch.nn.functional.softplus(step) if w["delta_softplus"] else step
        share = w["dim"] // w["groups"]
        b, c = (m[0].float().repeat_interleave(share, 0) for m in (B, C))
        x, state, out = u[0].float(), torch.zeros_like(A), []
        for t in range(w["L"]):
            state = torch.exp(step[:, t, None] * A) * state + (step[:, t] * x[:, t])[:, None] * b[:, :, t]
            out.append((state * c[:, :, t]).sum(-1))
        y = torch.stack(out, -1)
        y = y if D is None else y + D[:, None] * x
        return y if z is None else y * torch.nn.functional.silu(z[0].float())

    return call, expected


main()
