"""Writes the golden files of `crates/mamba/tests/golden/` from transformers' own logits.

    ksearch mamba init mamba-130m FOLDER --layers 2
    python scripts/mamba/golden.py FOLDER crates/mamba/tests/golden/mamba-130m.safetensors

Needs numpy, torch, safetensors and transformers. The weights are K-Search's random weights (the same bits on every
machine), so a golden file holds only token ids and a sample of logits: some positions of texts of several lengths, some
columns of the vocabulary, and 64 greedy tokens.
"""
import sys

import numpy
import torch
import transformers
from safetensors.numpy import save_file

LENGTHS = (1, 7, 64, 513, 4096)
COLUMNS = 128
POSITIONS = 8


def main():
    folder, out = sys.argv[1:3]
    torch.set_grad_enabled(False)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    vocab = model.config.vocab_size
    rng = numpy.random.default_rng(20261130)
    columns = numpy.sort(rng.choice(vocab, COLUMNS, replace=False)).astype("int32")
    tensors = {"columns": columns}
    for length in LENGTHS:
        ids = rng.integers(0, vocab, length).astype("int32")
        positions = {length - 1} | set(rng.integers(0, length, POSITIONS - 1).tolist())
        positions = numpy.array(sorted(positions), dtype="int32")
        hidden = model.backbone(input_ids=torch.tensor(ids[None].astype("int64")), use_cache=False).last_hidden_state
        logits = model.lm_head(hidden[0, torch.tensor(positions.astype("int64"))]).numpy()
        tensors[f"ids_{length}"] = ids
        tensors[f"positions_{length}"] = positions
        tensors[f"logits_{length}"] = numpy.ascontiguousarray(logits[:, columns], dtype="float32")
        tensors[f"argmax_{length}"] = logits.argmax(-1).astype("int32")
    prompt = rng.integers(0, vocab, 16).astype("int32")
    result = model(input_ids=torch.tensor(prompt[None].astype("int64")), use_cache=True)
    key = "cache" if getattr(result, "cache", None) is not None else "cache_params"
    cache, greedy, margins = getattr(result, key), [], []
    for _ in range(64):
        top = result.logits[0, -1].topk(2)
        greedy.append(int(top.indices[0]))
        margins.append(float(top.values[0] - top.values[1]))
        result = model(input_ids=torch.tensor([[greedy[-1]]]), use_cache=True, **{key: cache})
    assert len(set(greedy)) > 32, "greedy tokens repeat: equal tokens would prove little"
    tensors["prompt"], tensors["greedy"] = prompt, numpy.array(greedy, dtype="int32")
    about = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "least_margin": f"{min(margins):.3e}",
        "script": "scripts/mamba/golden.py",
    }
    save_file(tensors, out, metadata=about)
    print(out, about, "distinct greedy tokens:", len(set(greedy)))


if __name__ == "__main__":
    main()
