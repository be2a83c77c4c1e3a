"""numpy arrays to tensors and back through DLPack, both generations: tensors.py LIBRARY MODULE

Nothing is copied or freed too early, and everything is returned exactly once. MODULE has addone.
"""

import ctypes
import gc
import sys
import threading
import weakref
from ctypes import byref, c_char_p, c_int64, c_void_p, py_object

import numpy as np

import abi

library, path = sys.argv[1:]
lib = abi.Library(library)
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = c_void_p
api.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
api.PyCapsule_SetName.argtypes = [py_object, c_char_p]
api.PyCapsule_New.restype = py_object
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}
MANAGED = {False: abi.Managed, True: abi.ManagedVersioned}
FROM = {False: lib.TVMFFITensorFromDLPack, True: lib.TVMFFITensorFromDLPackVersioned}
TO = {False: lib.TVMFFITensorToDLPack, True: lib.TVMFFITensorToDLPackVersioned}
BOTH = [False, True]


# ---- from numpy to the library ----


class Counted:
    """Counts the calls of a loan's deleter, and forwards them."""

    def __init__(self, managed):
        self.calls = 0
        inner = abi.Deleter(managed.deleter)

        def count(p):
            self.calls += 1
            inner(p)

        self.callback = abi.Deleter(count)
        managed.deleter = ctypes.cast(self.callback, c_void_p)


def lend(a, versioned):
    """The loan of a numpy array, taken out of its capsule."""
    capsule = a.__dlpack__(max_version=(1, 0)) if versioned else a.__dlpack__()
    p = api.PyCapsule_GetPointer(capsule, NAMES[versioned])
    assert api.PyCapsule_SetName(capsule, USED[versioned]) == 0
    return MANAGED[versioned].from_address(p)


def wrap(managed, versioned, alignment=0, contiguous=0):
    out = c_void_p()
    lib.check(FROM[versioned](byref(managed), alignment, contiguous, byref(out)))
    return abi.Tensor(lib, out.value)


def check_view(a, t):
    assert t.dl.data + t.dl.byte_offset == a.ctypes.data or a.size == 0, "the data was copied"
    assert (t.dl.device, t.dl.device_id, t.dl.ndim) == (abi.CPU, 0, a.ndim)
    assert (t.dl.code, t.dl.bits, t.dl.lanes) == (abi.KINDS[a.dtype.kind], a.itemsize * 8, 1), a.dtype
    assert t.dl.shape[:a.ndim] == list(a.shape)
    assert a.size == 0 or t.dl.strides[:a.ndim] == [s // a.itemsize for s in a.strides]


def from_numpy(a, versioned):
    seen, before = weakref.ref(a), sys.getrefcount(a)
    managed = lend(a, versioned)
    deleter = Counted(managed)
    t = wrap(managed, versioned)
    check_view(a, t)
    assert sys.getrefcount(a) == before + 1 and deleter.calls == 0
    again = abi.Tensor(lib, t.handle)
    lib.check(lib.TVMFFIObjectIncRef(c_void_p(t.handle)))
    t.release()
    assert deleter.calls == 0, "returned although a reference is left"
    again.release()
    assert sys.getrefcount(a) == before and deleter.calls == 1, f"given back {deleter.calls} times"
    t = wrap(lend(a, versioned), versioned)
    del a
    assert seen() is not None, "the tensor does not keep the array"
    t.release()
    return seen


def shapes_and_types(versioned):
    kinds = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
    arrays = [np.arange(12).astype(k).reshape(3, 4) for k in kinds]
    f = np.arange(60, dtype=np.float32)
    cube = f.reshape(3, 4, 5)
    arrays += [cube.T, cube[::2, 1:, ::-1], f[7:], f[::3], np.broadcast_to(f, (4, 60)).copy()[:, 3:9]]
    arrays += [np.empty(0, np.float32), np.empty((3, 0, 2), np.int16), np.array(7.5), np.asfortranarray(cube)]
    for i in range(len(arrays)):
        seen = from_numpy(arrays[i], versioned)
        if arrays[i].base is None:
            arrays[i] = None
            assert seen() is None, "something still holds the array"


def refusals(versioned):
    """The caller still owns a rejected loan."""
    a = np.zeros((4, 6), np.float32)
    before = sys.getrefcount(a)
    for view, alignment, contiguous, part in ((a.T, 0, 1, "not contiguous"), (a[:, 1:], 64, 0, "aligned"),
            (a, 3, 0, "power of two")):
        managed = lend(view, versioned)
        deleter = Counted(managed)
        e = abi.fails(abi.FFIError, part, wrap, managed, versioned, alignment, contiguous)
        assert e.kind == "ValueError" and deleter.calls == 0, e
        deleter.callback(ctypes.addressof(managed))
        assert deleter.calls == 1
    del view
    assert sys.getrefcount(a) == before
    if versioned:
        managed = lend(a, True)
        managed.major = 2
        abi.fails(abi.FFIError, "version 2.", wrap, managed, True)
        managed.major = 1
        abi.Deleter(managed.deleter)(ctypes.addressof(managed))


def computes(versioned):
    """A function of a loaded module reads and writes the memory of numpy."""
    f = lib.get_function(lib.load(path), "addone")
    a, out = abi.aligned(np.arange(1024, dtype=np.float32)), abi.aligned(np.zeros(1024, np.float32))
    x, y = (wrap(lend(n, versioned), versioned, alignment=64, contiguous=1) for n in (a, out))
    for offset in (0, 5):
        a[...] = np.arange(1024) + offset
        f(x, y)
        assert np.array_equal(out, a + 1)


def released_elsewhere(versioned):
    """The last reference is dropped on a thread that Python created, while this one waits for it."""
    a = np.zeros(8)
    before = sys.getrefcount(a)
    tensors = [wrap(lend(a, versioned), versioned) for _ in range(50)]
    threads = [threading.Thread(target=t.release) for t in tensors]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sys.getrefcount(a) == before


# ---- from the library to numpy ----

api.PyCapsule_IsValid.argtypes = [c_void_p, c_char_p]


@ctypes.PYFUNCTYPE(None, c_void_p)
def end_capsule(capsule):
    """Returns loans that no consumer took."""
    for versioned in BOTH:
        if api.PyCapsule_IsValid(capsule, NAMES[versioned]):
            p = pointer_of(capsule, NAMES[versioned])
            abi.Deleter(MANAGED[versioned].from_address(p).deleter)(p)


# The capsule is being destroyed: its address must not become a Python object again.
pointer_of = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", api))
new_capsule = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", api))


class Exporter:
    """A tensor of the library in the form that DLPack consumers expect."""

    def __init__(self, tensor, versioned):
        self.tensor, self.versioned = tensor, versioned

    def __dlpack_device__(self):
        return self.tensor.dl.device, self.tensor.dl.device_id

    def __dlpack__(self, **asked):
        p = c_void_p()
        lib.check(TO[self.versioned](c_void_p(self.tensor.handle), byref(p)))
        return new_capsule(p, NAMES[self.versioned], ctypes.cast(end_capsule, c_void_p))


class Memory:
    """Memory of this program on loan, and how often it was returned."""

    def __init__(self, shape, strides=None):
        self.returned, ndim = 0, len(shape)
        self.bytes = np.arange(64, dtype=np.float32)
        self.shape, self.strides = (c_int64 * ndim)(*shape), (c_int64 * ndim)(*strides) if strides else None
        self.managed = {False: abi.Managed(), True: abi.ManagedVersioned(1, 0)}
        self.deleter = abi.Deleter(self.give_back)
        for m in self.managed.values():
            m.tensor = abi.DLTensor(self.bytes.ctypes.data, abi.CPU, 0, ndim, 2, 32, 1, self.shape, self.strides, 0)
            m.deleter = ctypes.cast(self.deleter, c_void_p)

    def give_back(self, _):
        self.returned += 1


def to_numpy(versioned):
    for shape, strides in (((4, 5), None), ((4, 5), (1, 4)), ((), None), ((0, 3), None), ((2, 3, 4), (24, 8, 2))):
        memory = Memory(shape, strides)
        t = wrap(memory.managed[versioned], versioned)
        exporter = Exporter(t, versioned)
        a = np.from_dlpack(exporter)
        assert a.shape == shape and a.dtype == np.float32
        assert a.size == 0 or a.ctypes.data == memory.bytes.ctypes.data, "the data was copied"
        assert strides is None or a.strides == tuple(4 * s for s in strides)
        assert t.refs == 2
        unused = exporter.__dlpack__()
        assert t.refs == 3
        del unused
        assert t.refs == 2, "an unused capsule returns nothing"
        t.release()
        memory.bytes += 1
        if a.size > 0:
            assert a.flat[0] == 1 and memory.returned == 0
        view = a.T
        del a
        assert memory.returned == 0
        del view
        gc.collect()
        assert memory.returned == 1, f"given back {memory.returned} times"


def own_memory(versioned):
    """A tensor that the library allocates; numpy writes and keeps it."""
    shape = (c_int64 * 2)(3, 7)
    prototype, out = abi.DLTensor(None, abi.CPU, 0, 2, 0, 16, 1, shape, None, 0), c_void_p()
    lib.check(lib.TVMFFIEnvTensorAlloc(byref(prototype), byref(out)))
    t = abi.Tensor(lib, out.value)
    a = np.from_dlpack(Exporter(t, versioned))
    address = t.dl.data
    t.release()
    assert a.dtype == np.int16 and a.shape == (3, 7) and a.ctypes.data == address
    if versioned:  # numpy may treat an unversioned loan as read-only
        a[...] = np.arange(21).reshape(3, 7)
        assert ctypes.c_int16.from_address(address + 2 * 20).value == 20


def there_and_back(versioned):
    a = np.arange(6.0).reshape(2, 3)
    before = sys.getrefcount(a)
    b = np.from_dlpack(Exporter(wrap(lend(a, versioned), versioned), versioned))
    assert np.shares_memory(a, b) and sys.getrefcount(a) == before + 1
    a[1, 2] = -1
    assert b[1, 2] == -1
    del b
    assert sys.getrefcount(a) == before


def read_only():
    """Read-only memory stays read-only when it passes through a tensor, and through a view of one."""
    a = np.arange(4.0)
    a.flags.writeable = False
    managed = lend(a, True)
    assert managed.flags & abi.READ_ONLY
    t = wrap(managed, True)
    out = c_void_p()
    lib.check(lib.TVMFFITensorCreateUnsafeView(c_void_p(t.handle), byref(t.dl), byref(out)))
    for tensor in (t, abi.Tensor(lib, out.value)):
        b = np.from_dlpack(Exporter(tensor, True))
        assert np.shares_memory(a, b) and not b.flags.writeable, "read-only memory can be written"
    a = np.arange(4.0)
    assert np.from_dlpack(Exporter(wrap(lend(a, True), True), True)).flags.writeable


for versioned in BOTH:
    for part in (shapes_and_types, refusals, computes, released_elsewhere, to_numpy, own_memory, there_and_back):
        part(versioned)
read_only()
print("ok")
