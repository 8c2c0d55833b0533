"""One peer as a process of its own: loads a checkpoint folder, then answers requests, one JSON object a line.

Started by `ksearch mamba bench --peers` and `ksearch mamba verify`; knows the peers' interfaces and nothing of K-Search.

    python peer.py PEER FOLDER        PEER: transformers | mamba.py | mlx-lm

First line out: {"ready": true, "versions": {..}} or {"ready": false, "reason": ".."}.
Requests: {"op": "prefill", "ids": [..]}                    -> {"seconds": s}
          {"op": "decode", "prompt": [..], "count": n}      -> {"seconds": s, "ids": [..]}
          {"op": "logits", "sequences": [[..], ..], "file": f} -> {"shape": [B, L, V]}, f32 little-endian in the file
"""
import importlib.metadata as metadata
import json
import sys
import time


def versions(*names):
    out = {"python": sys.version.split()[0]}
    for name in names:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            out[name] = None
    return out


class Transformers:
    """The reference path of transformers, on the CPU, in f32."""

    packages = ("transformers", "torch")

    def __init__(self, folder):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        torch.set_grad_enabled(False)
        self.torch = torch
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()

    def prefill(self, ids):
        ids = self.torch.tensor([ids])
        start = time.perf_counter()
        self.model(input_ids=ids, use_cache=True, logits_to_keep=1)
        return time.perf_counter() - start

    def decode(self, prompt, count):
        torch, out = self.torch, []
        result = self.model(input_ids=torch.tensor([prompt]), use_cache=True, logits_to_keep=1)
        key = "cache" if getattr(result, "cache", None) is not None else "cache_params"
        cache, next_id = getattr(result, key), int(result.logits[0, -1].argmax())
        out.append(next_id)
        start = time.perf_counter()
        for _ in range(count):
            result = self.model(input_ids=torch.tensor([[next_id]]), use_cache=True, **{key: cache})
            next_id = int(result.logits[0, -1].argmax())
            out.append(next_id)
        return time.perf_counter() - start, out[:count]

    def logits(self, sequences):
        return self.model(input_ids=self.torch.tensor(sequences), use_cache=False).logits.numpy()


class MambaPy:
    """mamba.py (mambapy): parallel scan for a prompt, one step a token for decode. Mamba-1 only on the CPU."""

    packages = ("mambapy", "torch")

    def __init__(self, folder):
        import types

        import torch
        from safetensors.torch import load_file

        # Its Mamba-2 needs mamba_ssm (CUDA) at import; the Mamba-1 code does not.
        stub = types.ModuleType("mambapy.mamba2")
        stub.Mamba2 = type("Mamba2", (), {})
        stub.Mamba2Config = type("Mamba2Config", (), {})
        sys.modules["mambapy.mamba2"] = stub
        from mambapy.lm import LM
        from mambapy.mamba import MambaConfig

        with open(f"{folder}/config.json") as file:
            config = json.load(file)
        if config["model_type"] != "mamba":
            raise RuntimeError("its Mamba-2 does not run on the CPU")
        torch.set_grad_enabled(False)
        self.torch = torch
        weights = load_file(f"{folder}/model.safetensors")
        layers = config["num_hidden_layers"]
        with torch.device("meta"):
            self.model = LM(
                MambaConfig(
                    d_model=config["hidden_size"], n_layers=layers, d_state=config["state_size"],
                    expand_factor=config["expand"], d_conv=config["conv_kernel"], dt_rank=config["time_step_rank"],
                    rms_norm_eps=config["layer_norm_epsilon"], bias=config["use_bias"],
                    conv_bias=config["use_conv_bias"], pscan=True,
                ),
                vocab_size=config["vocab_size"],
            )
        renamed = {}
        for name, value in weights.items():
            name = name.removeprefix("backbone.")
            if name.startswith("layers."):
                renamed["mamba." + name] = value
            elif name == "embeddings.weight":
                renamed["embedding.weight"] = value
                renamed.setdefault("lm_head.weight", value.clone())
            else:
                renamed[name] = value
        self.model.load_state_dict(renamed, assign=True)
        self.model.eval()
        self.layers, self.inner, self.tail = layers, config["expand"] * config["hidden_size"], config["conv_kernel"] - 1

    def prefill(self, ids):
        ids = self.torch.tensor([ids])
        start = time.perf_counter()
        hidden = self.model.norm_f(self.model.mamba(self.model.embedding(ids)))
        self.model.lm_head(hidden[:, -1])
        return time.perf_counter() - start

    def decode(self, prompt, count):
        torch, out = self.torch, []
        caches = [(None, torch.zeros(1, self.inner, self.tail)) for _ in range(self.layers)]
        for token in prompt:
            logits, caches = self.model.step(torch.tensor([token]), caches)
        next_id = int(logits[0].argmax())
        out.append(next_id)
        start = time.perf_counter()
        for _ in range(count):
            logits, caches = self.model.step(torch.tensor([next_id]), caches)
            next_id = int(logits[0].argmax())
            out.append(next_id)
        return time.perf_counter() - start, out[:count]

    def logits(self, sequences):
        hidden = self.model.norm_f(self.model.mamba(self.model.embedding(self.torch.tensor(sequences))))
        return self.model.lm_head(hidden).numpy()


class MlxLm:
    """mlx-lm on MLX's default device."""

    packages = ("mlx-lm", "mlx")

    def __init__(self, folder):
        from pathlib import Path

        import mlx.core as mx
        from mlx_lm.models.cache import make_prompt_cache
        from mlx_lm.utils import load_model

        self.mx, self.make_cache = mx, make_prompt_cache
        self.model = load_model(Path(folder))[0]

    def prefill(self, ids):
        mx = self.mx
        ids = mx.array([ids])
        start = time.perf_counter()
        mx.eval(self.model(ids, cache=self.make_cache(self.model))[:, -1])
        return time.perf_counter() - start

    def decode(self, prompt, count):
        mx, out = self.mx, []
        cache = self.make_cache(self.model)
        next_id = int(mx.argmax(self.model(mx.array([prompt]), cache=cache)[0, -1]))
        out.append(next_id)
        start = time.perf_counter()
        for _ in range(count):
            next_id = int(mx.argmax(self.model(mx.array([[next_id]]), cache=cache)[0, -1]))
            out.append(next_id)
        return time.perf_counter() - start, out[:count]

    def logits(self, sequences):
        import numpy

        return numpy.array(self.model(self.mx.array(sequences)))


def main():
    name, folder = sys.argv[1:3]
    kind = {"transformers": Transformers, "mamba.py": MambaPy, "mlx-lm": MlxLm}[name]
    # Libraries print to stdout at will; answers must not mix with that.
    answers, sys.stdout = sys.stdout, sys.stderr

    def answer(value):
        print(json.dumps(value), file=answers, flush=True)

    try:
        peer = kind(folder)
    except Exception as error:
        answer({"ready": False, "reason": f"{type(error).__name__}: {error}"[:500]})
        return
    answer({"ready": True, "versions": versions(*kind.packages)})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["op"] == "prefill":
                answer({"seconds": peer.prefill(request["ids"])})
            elif request["op"] == "decode":
                seconds, ids = peer.decode(request["prompt"], request["count"])
                answer({"seconds": seconds, "ids": ids})
            elif request["op"] == "logits":
                values = peer.logits(request["sequences"])
                values.astype("<f4").tofile(request["file"])
                answer({"shape": list(values.shape)})
            else:
                answer({"error": f"no operation {request['op']!r}"})
        except Exception as error:
            answer({"error": f"{type(error).__name__}: {error}"[:500]})


if __name__ == "__main__":
    main()
