"""Loads a fat library in Apache TVM, whose wheel has only the CPU: fat.py FILE.

The loaders of the devices' modules are missing in the wheel; placeholders take their place, as a runtime with these
devices would have real ones. The tree of modules, and the selection of the CPU's variant, are those of the file.
"""
import sys

import numpy as np
import tvm
import tvm_ffi

try:
    tvm_ffi.load_module(sys.argv[1])
except Exception as e:
    print("without loaders:", "loader of that name is not registered" in str(e))

placeholder = tvm_ffi.get_global_func("runtime.CSourceModuleCreate")
for kind in ("opencl", "cuda", "vulkan"):
    tvm_ffi.register_global_func(
        "ffi.Module.load_from_bytes." + kind, lambda data, k=kind: placeholder("/* " + k + " */", "c", [], [])
    )

m = tvm_ffi.load_module(sys.argv[1])
print("modules:", len(m.imports))
for name in ("add", "add__c"):
    a, b = tvm.runtime.tensor(np.arange(5, dtype="float32")), tvm.runtime.tensor(np.ones(5, dtype="float32"))
    c = tvm.runtime.tensor(np.zeros(5, dtype="float32"))
    m[name](a, b, c)
    print(name, *c.numpy())
    try:
        m[name](a, b)
    except Exception as e:
        print(type(e).__name__, e)
print("twice", m["twice"](21))


class Elsewhere:
    """A tensor on OpenCL, which this runtime lacks."""

    def __init__(self, x):
        import ctypes

        self.capsule = x.__dlpack__()
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        at = get(self.capsule, b"dltensor")
        ctypes.cast(at + 8, ctypes.POINTER(ctypes.c_int32))[0] = 8  # DLTensor.device.device_type: metal

    def __dlpack__(self, *args, **kwargs):
        return self.capsule

    def __dlpack_device__(self):
        return (8, 0)


x = tvm_ffi.from_dlpack(Elsewhere(np.zeros(5, dtype="float32")))
try:
    m["add"](x, x, x)
except Exception as e:
    print(type(e).__name__, e)
