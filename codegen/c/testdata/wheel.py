"""Calls generated functions in Apache TVM's own runtime: wheel.py FILE."""
import os
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1"

import numpy as np
import tvm
import tvm_ffi

m = tvm_ffi.load_module(sys.argv[1])
tensor = tvm.runtime.tensor
rng = np.random.default_rng(0)
a, b = rng.random((17, 64), dtype="float32"), rng.random((64, 9), dtype="float32")
out = tensor(np.zeros((17, 9), dtype="float32"))
m["matmul"](tensor(a), tensor(b), out)
np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-5)

out = tensor(np.zeros((17, 64), dtype="float32"))
m["softmax"](tensor(a), out)
e = np.exp(a - a.max(axis=1, keepdims=True))
np.testing.assert_allclose(out.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)

for n in (0, 5, 1003):
    x, y = rng.random(n).astype("float16"), rng.random(n).astype("float16")
    out = tensor(np.zeros(n, dtype="float16"))
    m["vadd_half"](tensor(x), tensor(y), out)
    np.testing.assert_array_equal(out.numpy(), x + y)
    x, y = x.astype("float32"), y.astype("float32")
    out = tensor(np.zeros(n, dtype="float32"))
    m["vadd_vectors"](tensor(x), tensor(y), out)
    np.testing.assert_array_equal(out.numpy(), x + y)
print("ok")
try:
    m["matmul"](tensor(a), tensor(b[:63].copy()), tensor(np.zeros((17, 9), dtype="float32")))
except Exception as e:
    print(f"{type(e).__name__}: {e}".splitlines()[0])
