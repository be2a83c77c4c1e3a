"""The same as model.c in Apache TVM's own runtime: model.py MODEL.so"""
import os
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1"

import numpy as np
import tvm
import tvm_ffi

ROWS, INNER, CLASSES = 30, 32, 10


def grid(rows, columns, value):
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return value(i, j).astype("float32")


a = grid(ROWS, INNER, lambda i, k: ((7 * i + 3 * k) % 11 - 5) * 0.25)
b = grid(INNER, CLASSES, lambda k, j: ((5 * k + 2 * j) % 7 - 3) * 0.125)
bias = ((np.arange(CLASSES) - 4) * 0.5).astype("float32")

model = tvm_ffi.load_module(sys.argv[1])
tensor = tvm.runtime.tensor
x, y = (tensor(np.zeros((ROWS, CLASSES), dtype="float32")) for _ in range(2))
model["dense"](tensor(a), tensor(b), tensor(bias), x)
model["softmax"](x, y)

want = np.maximum(a @ b + bias, 0)
e = np.exp(want.astype("float64"))
np.testing.assert_array_equal(x.numpy(), want)
np.testing.assert_allclose(y.numpy(), e / e.sum(axis=1, keepdims=True), atol=1e-6)
for name, t in (("dense:", x), ("softmax:", y)):
    print(f"row 0 of {name:8}", *(f"{v:.6f}" for v in t.numpy()[0]))
print(f"all {ROWS} rows are as NumPy has them")
