def _plain(arrays, given):
    u, delta = (arrays[n].astype(mx.float32) for n in ("u", "delta"))
    a = arrays["A"]
    batch, dim, length = u.shape
    groups = arrays["B"].shape[1]
    if arrays.get("delta_bias") is not None:
        delta = delta + arrays["delta_bias"][None, :, None]
    if given.get("delta_softplus", 1):
        delta = mx.logaddexp(delta, mx.zeros_like(delta))
    b, c = (mx.repeat(arrays[n].astype(mx.float32), dim // groups, axis=1) for n in ("B", "C"))
    state = arrays.get("initial_state")
    if state is None:
        state = mx.zeros((batch, dim, a.shape[1]))
    steps = []
    for t in range(length):
        dt = delta[:, :, t, None]
        state = mx.exp(dt * a) * state + dt * b[:, :, :, t] * u[:, :, t, None]
        steps.append((state * c[:, :, :, t]).sum(axis=-1))
    y = mx.stack(steps, axis=-1)
    if arrays.get("D") is not None:
        y = y + arrays["D"][None, :, None] * u
    if arrays.get("z") is not None:
        z = arrays["z"].astype(mx.float32)
        y = y * z * mx.sigmoid(z)
    y = y.astype(arrays["u"].dtype)
    return (y, state) if given.get("has_final_state", 0) else y
