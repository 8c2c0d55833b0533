"""A parallel prefill for Mamba in mlx-lm.

    import ksearch_mamba
    ksearch_mamba.patch()          # before the model runs; unpatch() takes it back

mlx-lm runs a prompt through Mamba one token at a time. This replaces that loop by one scan over the whole prompt with the
kernel in selective_scan.py; a single token still takes mlx-lm's own way. The state between calls stays what mlx-lm keeps:
convolution tail and scan state, the latter in float32. `falcon_mamba` models (normalised B, C and step sizes) are covered.
mlx-lm's Mamba-2 has a parallel prefill of its own and is left as it is.

Parity is checked by test_parity.py, which needs no weights: python3 -m ksearch_mamba.test_parity
"""

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import mamba

from .selective_scan import selective_scan

_original = mamba.MambaBlock._process_sequence


def _process_sequence(self, x, conv_cache, state_cache):
    if x.shape[1] == 1:
        return _original(self, x, conv_cache, state_cache)
    dtype, tail = x.dtype, self.conv_kernel_size - 1
    x, z = self.in_proj(x).split(indices_or_sections=2, axis=-1)
    if conv_cache is not None:
        full = mx.concatenate([conv_cache, x], axis=1)
    else:
        full = mx.pad(x, [(0, 0), (tail, 0), (0, 0)])
    u = nn.silu(self.conv1d(full))
    rank, states = self.time_step_rank, self.ssm_state_size
    delta, b, c = mx.split(self.x_proj(u), [rank, rank + states], axis=-1)
    if self.use_bcdt_rms:
        eps = self.args.mixer_rms_eps
        delta, b, c = (mx.fast.rms_norm(v, weight=None, eps=eps) for v in (delta, b, c))
    delta = self.dt_proj(delta)
    channels_first = lambda v: v.swapaxes(1, 2).astype(dtype)
    y, state = selective_scan(
        channels_first(u),
        channels_first(delta),
        -mx.exp(self.A_log.astype(mx.float32)),
        channels_first(b)[:, None],
        channels_first(c)[:, None],
        D=self.D.astype(mx.float32),
        z=channels_first(z),
        initial_state=None if state_cache is None else state_cache.astype(mx.float32),
        delta_softplus=1,
        has_final_state=1,
    )
    return self.out_proj(y.swapaxes(1, 2)), (full[:, -tail:, :], state)


def patch():
    """Puts the parallel prefill in place."""
    mamba.MambaBlock._process_sequence = _process_sequence


def unpatch():
    """Takes it back."""
    mamba.MambaBlock._process_sequence = _original
