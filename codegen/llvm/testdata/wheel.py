"""Calls generated functions in Apache TVM's runtime and writes arguments and results: wheel.py LIBRARY FOLDER"""
import os
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1"

import numpy as np
import tvm
import tvm_ffi

m = tvm_ffi.load_module(sys.argv[1])
tensor = tvm.runtime.tensor
rng = np.random.default_rng(0)
a, b = rng.random((37, 64), dtype="float32") - 0.5, rng.random((64, 130), dtype="float32") - 0.5


def run(function, *args):
    out = tensor(np.zeros((37, 130), dtype="float32"))
    m[function](*[tensor(x) for x in args], out)
    return out.numpy()


dense = run("dense", a, b)
np.testing.assert_allclose(dense, np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)
softmax = run("softmax", dense)
e = np.exp(dense - dense.max(axis=1, keepdims=True))
np.testing.assert_allclose(softmax, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
for name, x in {"a": a, "b": b, "dense": dense, "softmax": softmax}.items():
    x.tofile(os.path.join(sys.argv[2], name))
try:
    m["dense"](tensor(a), tensor(b[:63].copy()), tensor(dense))
except Exception as error:
    print(error)
