"""Loads a compiled module and calls a function f(A, B, C) that adds two float32 vectors of NumPy, in three ways.

    main.py MODULE [FUNCTION] [LENGTH] [DEVICE]      DEVICE is cpu, cuda:0, opencl:1, ...

It needs only NumPy and libtvmgo.so: no header, no compiler, no package of Apache TVM. It uses the library that
TVMGO_LIBRARY names, or else that of dist/ in the source tree, or else the one that the system finds. README.md explains
the steps.
"""

import ctypes
import os
import statistics
import sys
import time
from ctypes import (POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint8, c_uint16, c_uint64,
                    c_void_p, py_object)

import numpy as np

DEVICES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7}  # DLDeviceType
CODES = {"i": 0, "u": 1, "f": 2}  # DLDataTypeCode by the kind of a NumPy type
FLOAT, DLTENSOR, ARRAY = 2, 7, 13  # kDLFloat, and of the argument codes kTVMDLTensorHandle and kTVMNDArrayHandle


# ---- the structures of c_runtime_api.h and dlpack.h ----


class Value(ctypes.Union):
    _fields_ = [("int", c_int64), ("float", c_double), ("handle", c_void_p)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


def open_library():
    """Opens the library by its path, or by its name if the system has to find it."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "dist", "lib", "libtvmgo.so")
    lib = ctypes.CDLL(os.environ.get("TVMGO_LIBRARY") or (beside if os.path.exists(beside) else "libtvmgo.so.0"))
    lib.TVMGetLastError.restype = c_char_p
    # ctypes checks and converts arguments with declared types; without them it would truncate a pointer to 32 bits.
    lib.TVMModLoadFromFile.argtypes = [c_char_p, c_char_p, POINTER(c_void_p)]
    lib.TVMModGetFunction.argtypes = [c_void_p, c_char_p, c_int, POINTER(c_void_p)]
    lib.TVMFuncCall.argtypes = [c_void_p, POINTER(Value), POINTER(c_int), c_int, POINTER(Value), POINTER(c_int)]
    lib.TVMArrayAlloc.argtypes = [POINTER(c_int64)] + [c_int] * 6 + [POINTER(c_void_p)]
    lib.TVMArrayCopyFromBytes.argtypes = lib.TVMArrayCopyToBytes.argtypes = [c_void_p, c_void_p, c_size_t]
    lib.TVMArrayFromDLPack.argtypes = lib.TVMArrayToDLPack.argtypes = [c_void_p, POINTER(c_void_p)]
    lib.TVMSynchronize.argtypes = [c_int, c_int, c_void_p]
    for free in (lib.TVMModFree, lib.TVMFuncFree, lib.TVMArrayFree):
        free.argtypes = [c_void_p]
    return lib


def check(rc):
    """Raises the error of a call: functions return 0, or -1 with the reason in TVMGetLastError."""
    if rc != 0:
        raise RuntimeError(lib.TVMGetLastError().decode())


class Handle:
    """A counted object of the library, which is freed with the Python object."""

    def __init__(self, free):
        self.free, self.handle = free, c_void_p()

    def __del__(self):
        if self.handle:
            self.free(self.handle)


class Module(Handle):
    def __init__(self, path):
        super().__init__(lib.TVMModFree)
        check(lib.TVMModLoadFromFile(path.encode(), b"so", byref(self.handle)))

    def __getitem__(self, name):
        return Function(self, name)


class Function(Handle):
    def __init__(self, module, name):
        super().__init__(lib.TVMFuncFree)
        check(lib.TVMModGetFunction(module.handle, name.encode(), 0, byref(self.handle)))
        if not self.handle:  # a missing function is not an error of TVMModGetFunction
            raise KeyError(f'the module has no function "{name}"')

    def __call__(self, *args):
        """Calls the function with NumPy arrays, which are passed by pointer, and with arrays of the library."""
        values, codes, result, code = (Value * len(args))(), (c_int * len(args))(), Value(), c_int()
        views = [view(a) if isinstance(a, np.ndarray) else a for a in args]  # alive until the call returns
        for i, v in enumerate(views):
            codes[i] = DLTENSOR if isinstance(v, DLTensor) else ARRAY
            values[i].handle = ctypes.addressof(v) if isinstance(v, DLTensor) else v.handle.value
        check(lib.TVMFuncCall(self.handle, values, codes, len(args), byref(result), byref(code)))


# ---- 1. pointers: the function works on NumPy's memory during the call ----


def view(a):
    """Describes the memory of an array. It does not keep the array alive: that must exist while the view is used."""
    if not a.flags.c_contiguous or a.dtype.kind not in CODES:
        raise TypeError(f"an array of {a.dtype} with strides {a.strides} is not passed: see numpy.ascontiguousarray")
    return DLTensor(a.ctypes.data, DEVICES["cpu"], 0, a.ndim, CODES[a.dtype.kind], 8 * a.itemsize, 1,
                    (c_int64 * a.ndim)(*a.shape), None, 0)


def aligned(n):
    """A float32 vector whose address is a multiple of 64 bytes, as code that Apache TVM compiled requires."""
    memory = np.zeros(4 * n + 64, np.uint8)
    return memory[-memory.ctypes.data % 64:][:4 * n].view(np.float32)


# ---- 2. DLPack: the library keeps a reference to a NumPy array, or NumPy one to a tensor of the library ----

capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
capsule_rename = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
capsule_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
USED = b"used_dltensor"  # a capsule keeps the address of its name, so this must never be freed


class Array(Handle):
    def __init__(self):
        super().__init__(lib.TVMArrayFree)

    @classmethod
    def of(cls, a):
        """Borrows the memory of an object that supports DLPack until the last reference to the tensor is freed."""
        self, capsule = cls(), a.__dlpack__()
        check(lib.TVMArrayFromDLPack(capsule_pointer(capsule, b"dltensor"), byref(self.handle)))
        capsule_rename(capsule, USED)  # the library owns the tensor now, so the capsule must not free it
        return self

    def __dlpack_device__(self):
        return DEVICES["cpu"], 0

    def __dlpack__(self, **_):
        managed = c_void_p()
        check(lib.TVMArrayToDLPack(self.handle, byref(managed)))
        return capsule_new(managed, b"dltensor", None)  # numpy.from_dlpack takes ownership

    # ---- 3. devices: their memory is written and read by copies ----

    @classmethod
    def on(cls, device, a):
        self, kind, index = cls(), *device
        shape = (c_int64 * a.ndim)(*a.shape)
        check(lib.TVMArrayAlloc(shape, a.ndim, CODES[a.dtype.kind], 8 * a.itemsize, 1, kind, index, byref(self.handle)))
        check(lib.TVMArrayCopyFromBytes(self.handle, a.ctypes.data, a.nbytes))
        return self

    def read(self, a):
        check(lib.TVMArrayCopyToBytes(self.handle, a.ctypes.data, a.nbytes))
        return a


def parse_device(text):
    name, _, index = text.partition(":")
    if name not in DEVICES:
        raise ValueError(f"{name} is no device: give one of {', '.join(DEVICES)}")
    return DEVICES[name], int(index or 0)


def run(path, name="add", length="1024", device="cpu"):
    n, device = int(length), parse_device(device)
    f = Module(path)[name]  # a function keeps its module loaded
    a, b, c = aligned(n), aligned(n), aligned(n)
    a[:], b[:] = np.arange(n) % 1000, np.arange(n) % 100 * 0.5

    args = [a, b, c]
    if device[0] != DEVICES["cpu"]:
        args = [Array.on(device, x) for x in (a, b, c)]
        f(*args)
        np.testing.assert_array_equal(args[2].read(c), a + b)  # waits for the function
    else:
        f(*args)
        np.testing.assert_array_equal(c, a + b)
        c[:] = 0
        held = Array.of(c)
        f(Array.of(a), Array.of(b), held)
        back = np.from_dlpack(held)
        del held, c  # back refers to the library's tensor and keeps its memory
        np.testing.assert_array_equal(back, a + b)
        assert back.ctypes.data == args[2].ctypes.data, "DLPack copied"
    print(f"{name} of {path} added {n} elements, and all are right")

    times = []
    for _ in range(101):
        begin = time.perf_counter()
        f(*args)
        check(lib.TVMSynchronize(*device, None))
        times.append(time.perf_counter() - begin)
    print(f"time of a call: {1e6 * statistics.median(times):.3f} us (median of {len(times)})")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 5:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    try:
        lib = open_library()
        run(*sys.argv[1:])
    except (RuntimeError, KeyError, ValueError, OSError) as e:
        sys.exit(f"main.py: {e.args[0] if isinstance(e, KeyError) else e}")
