"""libtvmgo.so for Python programs by ctypes only: the structures of both C ABIs, calls, and errors as exceptions."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import numpy as np

NONE, INT, BOOL, FLOAT, OPAQUE, DLTENSOR, RAW_STR, SMALL_STR = 0, 1, 2, 3, 4, 7, 8, 11
OBJECT, STR, ERROR, FUNCTION, TENSOR, MODULE = 64, 65, 67, 68, 70, 73
CLASSIC_INT, CLASSIC_FLOAT, CLASSIC_DLTENSOR, CLASSIC_STR = 0, 2, 7, 11
CPU = 1
HEADER = 24  # bytes before the fields of an object


class ByteArray(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", ctypes.c_size_t)]

    def text(self):
        return ctypes.string_at(self.data, self.size).decode()


class AnyValue(ctypes.Union):
    _fields_ = [("int", c_int64), ("float", ctypes.c_double), ("ptr", c_void_p), ("bytes", c_uint8 * 8)]


class Any(ctypes.Structure):
    _fields_ = [("type_index", c_int32), ("small_len", c_uint32), ("v", AnyValue)]


class ErrorCell(ctypes.Structure):
    _fields_ = [("kind", ByteArray), ("message", ByteArray), ("backtrace", ByteArray)]


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("ctx", c_void_p), ("deleter", c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("ctx", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", DLTensor)]


READ_ONLY = 1

SafeCall = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Any), c_int32, POINTER(Any))
ClassicCall = ctypes.CFUNCTYPE(c_int, POINTER(c_int64), POINTER(c_int), c_int, c_void_p, c_void_p)
Finalizer = ctypes.CFUNCTYPE(None, c_void_p)


class FFIError(Exception):
    """An error of the tvm-ffi ABI."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class ClassicError(Exception):
    """An error of the classic ABI."""


class Object:
    """One strong reference to an object."""

    def __init__(self, lib, handle):
        self.lib, self.handle = lib, handle

    @property
    def refs(self):
        return c_uint32.from_address(self.handle).value  # the low half of the count

    def release(self):
        handle, self.handle = self.handle, None
        if handle:
            assert self.lib.TVMFFIObjectDecRef(c_void_p(handle)) == 0

    def __del__(self):
        self.release()


class Function(Object):
    def __call__(self, *args):
        keep, views = [], (Any * max(1, len(args)))()
        for i, a in enumerate(args):
            pack(views[i], a, keep)
        ret = Any()
        self.lib.check(self.lib.TVMFFIFunctionCall(c_void_p(self.handle), views, len(args), byref(ret)))
        return self.lib.unpack(ret)


class Tensor(Object):
    @property
    def dl(self):
        return DLTensor.from_address(self.handle + HEADER)


class Library(ctypes.CDLL):
    """The library, opened with RTLD_LOCAL, the default of ctypes. classic=False declares only the tvm-ffi ABI."""

    def __init__(self, path, classic=True):
        super().__init__(path)
        self.TVMFFIErrorMoveFromRaised.restype = None
        self.TVMFFIErrorSetRaisedFromCStr.restype = None
        if classic:
            self.TVMGetLastError.restype = c_char_p
            self.TVMAPISetLastError.restype = None

    # the tvm-ffi ABI

    def raised(self):
        """The error of this thread, taken from its slot, or None."""
        e = c_void_p()
        self.TVMFFIErrorMoveFromRaised(byref(e))
        if not e:
            return None
        held = Object(self, e.value)
        cell = ErrorCell.from_address(held.handle + HEADER)
        return FFIError(cell.kind.text(), cell.message.text())

    def check(self, rc):
        if rc != 0:
            raise self.raised()

    def unpack(self, v):
        """The Python value of an owned result. Takes ownership of the result."""
        t = v.type_index
        if t == NONE:
            return None
        if t in (INT, BOOL):
            return v.v.int
        if t == FLOAT:
            return v.v.float
        if t == SMALL_STR:
            return bytes(v.v.bytes[:v.small_len]).decode()
        assert t >= OBJECT, f"a result has the type {t}"
        if t == STR:
            held = Object(self, v.v.ptr)
            return ByteArray.from_address(held.handle + HEADER).text()
        return {FUNCTION: Function, TENSOR: Tensor}.get(t, Object)(self, v.v.ptr)

    def get_global(self, name):
        text, f = name.encode(), c_void_p()
        data = ctypes.create_string_buffer(text)
        self.check(self.TVMFFIFunctionGetGlobal(byref(ByteArray(ctypes.addressof(data), len(text))), byref(f)))
        return Function(self, f.value) if f else None

    def load(self, path):
        return self.get_global("ffi.ModuleLoadFromFile")(path)

    def get_function(self, module, name):
        return self.get_global("ffi.ModuleGetFunction")(module, name, False)

    def function(self, safe_call, ctx=None, deleter=None):
        """A function object of a SafeCall, which must outlive it."""
        out = c_void_p()
        self.check(self.TVMFFIFunctionCreate(ctx, safe_call, deleter, byref(out)))
        return Function(self, out.value)

    # the classic ABI

    def check_classic(self, rc):
        if rc != 0:
            raise ClassicError(self.TVMGetLastError().decode())

    def load_classic(self, path):
        module = c_void_p()
        self.check_classic(self.TVMModLoadFromFile(path.encode(), b"", byref(module)))
        return module

    def get_function_classic(self, module, name):
        f = c_void_p()
        self.check_classic(self.TVMModGetFunction(module, name.encode(), 0, byref(f)))
        return f

    def call_classic(self, f, *args):
        keep, values, codes = [], (c_int64 * max(1, len(args)))(), (c_int * max(1, len(args)))()
        for i, a in enumerate(args):
            if isinstance(a, np.ndarray):
                keep.append(describe(a))
                values[i], codes[i] = ctypes.addressof(keep[-1]), CLASSIC_DLTENSOR
            else:
                values[i], codes[i] = a, CLASSIC_INT
        ret, code = c_int64(), c_int()
        self.check_classic(self.TVMFuncCall(f, values, codes, len(args), byref(ret), byref(code)))
        return ret.value if code.value == CLASSIC_INT else None


def pack(view, a, keep):
    """Makes view a view of a; keep holds the referenced memory."""
    if isinstance(a, bool):
        view.type_index, view.v.int = BOOL, a
    elif isinstance(a, int):
        view.type_index, view.v.int = INT, a
    elif isinstance(a, float):
        view.type_index, view.v.float = FLOAT, a
    elif isinstance(a, str):
        keep.append(ctypes.create_string_buffer(a.encode()))
        view.type_index, view.v.ptr = RAW_STR, ctypes.addressof(keep[-1])
    elif isinstance(a, np.ndarray):
        keep.append(describe(a))
        view.type_index, view.v.ptr = DLTENSOR, ctypes.addressof(keep[-1])
    else:
        assert isinstance(a, Object), repr(a)
        view.type_index, view.v.ptr = c_int32.from_address(a.handle + 8).value, a.handle


KINDS = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def describe(a):
    """A DLTensor of a numpy array, which must outlive it."""
    shape, strides = (c_int64 * a.ndim)(*a.shape), (c_int64 * a.ndim)(*[s // a.itemsize for s in a.strides])
    return DLTensor(a.ctypes.data, CPU, 0, a.ndim, KINDS[a.dtype.kind], a.itemsize * 8, 1,
                    ctypes.cast(shape, POINTER(c_int64)), ctypes.cast(strides, POINTER(c_int64)), 0)


def aligned(a):
    """A copy that begins at a multiple of 64 bytes, as generated code requires."""
    room = np.empty(a.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    out = room[start:start + a.nbytes].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


def fails(error, part, f, *args):
    """Calls f, which must raise this error with this part in its message; returns the error."""
    try:
        f(*args)
    except error as e:
        assert part in str(e), f"{part!r} is not in {e!r}"
        return e
    raise AssertionError(f"no {error.__name__} with {part!r}")
