def _plain(arrays, given):
    q, k, v = arrays["q"], arrays["k"], arrays["v"]
    scale = given.get("scale", q.shape[-1] ** -0.5)
    mask = "causal" if given.get("causal", 0) else None
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)
