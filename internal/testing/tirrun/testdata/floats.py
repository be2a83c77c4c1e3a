"""Writes floats.json: how ml_dtypes and NumPy round and decode narrow floats. Values are the bits of float32."""
import json, pathlib
import numpy as np, ml_dtypes as m

codes = {"float16": np.float16, "bfloat16": m.bfloat16, "float8_e3m4": m.float8_e3m4, "float8_e4m3": m.float8_e4m3,
         "float8_e4m3b11fnuz": m.float8_e4m3b11fnuz, "float8_e4m3fn": m.float8_e4m3fn,
         "float8_e4m3fnuz": m.float8_e4m3fnuz,
         "float8_e5m2": m.float8_e5m2, "float8_e5m2fnuz": m.float8_e5m2fnuz, "float8_e8m0fnu": m.float8_e8m0fnu,
         "float6_e2m3fn": m.float6_e2m3fn, "float6_e3m2fn": m.float6_e3m2fn, "float4_e2m1fn": m.float4_e2m1fn}
rng = np.random.default_rng(1)
out = {}
for name, t in codes.items():
    wide = np.dtype(t).itemsize == 2
    n = {"float6_e2m3fn": 64, "float6_e3m2fn": 64, "float4_e2m1fn": 16}.get(name, 65536 if wide else 256)
    bits = (rng.integers(0, n, 100) if wide else np.arange(n)).astype(np.uint16 if wide else np.uint8)
    values = bits.view(t).astype(np.float32)
    finite = np.sort(values[np.isfinite(values)])
    with np.errstate(all="ignore"):
        # Random values of all sizes, the midpoints between neighbours, and values slightly above and below these.
        x = np.concatenate([rng.integers(0, 2**32, 60, dtype=np.uint64).astype(np.uint32).view(np.float32),
                            rng.normal(size=40).astype(np.float32) * np.float32(4)])
        if not wide:
            ties = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
            ties = ties[:: max(1, len(ties) // 60)]
            top = finite[-1] * np.array([1.01, 1.03, 1.07, 1.13, 1.26, 1.6, -1.07, -1.6], np.float32)
            x = np.concatenate([x, ties, np.nextafter(ties, np.float32(np.inf)),
                                np.nextafter(ties, np.float32(-np.inf)), top])
        x = np.concatenate([x, np.array([0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 65519, 65520, 3.4e38],
                                        np.float32)])
        if name == "float8_e8m0fnu":  # of what float32 has as subnormal the reference looks at the highest bits alone
            x = x[(np.abs(x) >= 2.0**-126) | ~(np.abs(x) > 0)]
        coded = x.astype(t).view(bits.dtype)
    out[name] = {"bits": bits.tolist(), "values": values.view(np.uint32).tolist(), "from": x.view(np.uint32).tolist(),
                 "to": coded.tolist()}
pathlib.Path(__file__).with_name("floats.json").write_text(json.dumps(out, separators=(",", ":")).replace('"float',
    '\n"float').replace('"bf', '\n"bf'))
