"""What Apache TVM's own runtime makes of packed kernels: wheel.py call FILE, wheel.py refuse FILE."""
import os
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1"

import numpy as np
import tvm
import tvm_ffi


def error(f, *args):
    try:
        f(*args)
    except Exception as e:
        return f"{type(e).__name__}: {e}".splitlines()[0]
    return "no error"


def call(path):
    m = tvm_ffi.load_module(path)
    a, b = np.arange(1000, dtype="float32"), np.full(1000, 0.5, dtype="float32")
    x, y, z = tvm.runtime.tensor(a), tvm.runtime.tensor(b), tvm.runtime.tensor(np.zeros(1000, dtype="float32"))
    m["add"](x, y, z, 1000)
    np.testing.assert_array_equal(z.numpy(), a + b)
    print(m.kind, *[i.kind for i in m.imports])
    print(error(m["add"], x, tvm.runtime.tensor(np.zeros(1000, dtype="int8")), z, 1000))
    print(error(m["add"], x, y, z, 999))
    print(error(m["add"], x, y, z))
    metadata = m.get_function_metadata("add")
    print(tvm_ffi.core.TypeSchema.from_json_str(metadata["type_schema"]))
    print(metadata["signature"])
    print(m.get_function_doc("add"))
    print(len(m["_tvmgo_vectors"]()))
    print(error(lambda: m["missing"]))


{"call": call, "refuse": lambda path: print(error(tvm_ffi.load_module, path))}[sys.argv[1]](sys.argv[2])
