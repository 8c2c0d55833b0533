"""Logits of a patched model against mlx-lm's own, on random weights: whole prompts, prompts in parts, batches, and the
tokens after them."""

import mlx.core as mx
from mlx_lm.models import mamba

from . import patch, unpatch


def model(kind="mamba", layers=2):
    mx.random.seed(3)
    args = mamba.ModelArgs(
        model_type=kind, vocab_size=97, hidden_size=24, intermediate_size=48, state_size=16, num_hidden_layers=layers,
        conv_kernel=4, use_bias=False, use_conv_bias=True, time_step_rank=3,
    )
    made = mamba.Model(args)
    mx.eval(made.parameters())
    return made


def logits(made, parts):
    cache = made.make_cache()
    return mx.concatenate([made(p, cache) for p in parts], axis=1)


def compare(what, made, parts, limit):
    unpatch()
    want = logits(made, [mx.concatenate(parts, axis=1)])
    patch()
    got = logits(made, parts)
    unpatch()
    error = (mx.abs(got - want).max() / mx.abs(want).max()).item()
    assert error <= limit, f"{what}: {error:.1e} of the greatest logit, {limit:.0e} allowed"
    print(f"  ok  {what}: {error:.1e}")


def main():
    for kind in ("mamba", "falcon_mamba"):
        made = model(kind)
        ids = mx.random.randint(0, 97, (2, 41))
        compare(f"{kind}, prompt whole", made, [ids], 1e-5)
        compare(f"{kind}, prompt in parts", made, [ids[:, :7], ids[:, 7:30], ids[:, 30:]], 1e-5)
        compare(f"{kind}, prompt and three tokens", made, [ids[:, :38], ids[:, 38:39], ids[:, 39:40], ids[:, 40:]], 1e-5)


if __name__ == "__main__":
    main()
