"""One process with two TVM runtimes: libtvmgo.so and Apache TVM's. Both load the same files from the same paths and
call their functions with good and with bad arguments. Each must see its own errors and results, whichever loads first.

peer_test.py ORDER LIBRARY FILE...

Orders: peer-then-ours      Apache TVM is imported and loads first
        peer-then-ours-load the import comes first, but we load the files first
        ours-then-peer      we come first, the import follows, then we load, then it loads
        ours-load-then-peer we have loaded the files when the import comes (needs TVMGO_PRIVATE_LOAD=1)
        churn               alternately loads and frees, many times
"""

import ctypes
import os
import sys

import numpy as np

os.environ["TVM_USE_RUNTIME_LIB"] = "1"


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class OursError(Exception):
    pass


class Ours:
    """The classic C ABI of libtvmgo.so."""

    def __init__(self, library):
        self.lib = ctypes.CDLL(library)  # RTLD_LOCAL
        self.lib.TVMGetLastError.restype = ctypes.c_char_p

    def check(self, rc):
        if rc != 0:
            raise OursError(self.lib.TVMGetLastError().decode())

    def load(self, path):
        module = ctypes.c_void_p()
        self.check(self.lib.TVMModLoadFromFile(path.encode(), b"", ctypes.byref(module)))
        return module

    def free(self, module):
        self.check(self.lib.TVMModFree(module))

    def call(self, module, name, *arrays):
        f = ctypes.c_void_p()
        self.check(self.lib.TVMModGetFunction(module, name.encode(), 0, ctypes.byref(f)))
        assert f, f"{name} is missing"
        tensors = []
        for a in arrays:
            shape = (ctypes.c_int64 * a.ndim)(*a.shape)
            kind = {"f": 2, "i": 0}[a.dtype.kind]
            tensors.append(DLTensor(a.ctypes.data, (ctypes.c_int32 * 2)(1, 0), a.ndim, kind, a.itemsize * 8, 1, shape,
                                    None, 0))
        values = (ctypes.c_void_p * len(arrays))(*[ctypes.addressof(t) for t in tensors])
        codes = (ctypes.c_int * len(arrays))(*[7] * len(arrays))
        ret, code = ctypes.c_int64(), ctypes.c_int()
        try:
            self.check(self.lib.TVMFuncCall(f, values, codes, len(arrays), ctypes.byref(ret), ctypes.byref(code)))
        finally:
            self.lib.TVMFuncFree(f)

    def raised(self):
        return self.lib.TVMGetLastError().decode()


class Peer:
    """Apache TVM."""

    def __init__(self):
        import tvm  # noqa: F401  libtvm_runtime.so, for workspaces
        import tvm_ffi

        self.ffi = tvm_ffi
        self.lib = tvm_ffi.LIB

    def load(self, path):
        return self.ffi.load_module(path, keep_module_alive=False)

    def free(self, module):
        pass  # the last reference is the caller's

    def call(self, module, name, *arrays):
        module[name](*[self.ffi.from_dlpack(a) for a in arrays])

    def raised(self):
        """Text of the error in Apache TVM's own slot, which stays there."""
        e = ctypes.c_void_p()
        self.lib.TVMFFIErrorMoveFromRaised(ctypes.byref(e))
        if not e:
            return ""
        text = ctypes.cast(e.value + 40, ctypes.POINTER(ctypes.c_char_p))[0].decode()
        self.lib.TVMFFIErrorSetRaised(e)
        self.lib.TVMFFIObjectDecRef(e)
        return text


def aligned(a):
    room = np.empty(a.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    out = room[start:start + a.nbytes].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


rng = np.random.default_rng(0)


def good(runtime, module):
    a, b, c = (aligned(rng.random(77, np.float32)) for _ in range(3))
    runtime.call(module, "vadd", a, b, c)
    assert np.array_equal(c, a + b), "vadd is wrong"
    a, b = (aligned(rng.random((512, 512), np.float32)) for _ in range(2))
    runtime.call(module, "wsfunc", a, b)  # takes workspaces from its runtime
    assert np.allclose(b, a + 2 * a.T, atol=1e-5), "wsfunc is wrong"


def bad(runtime, other, module):
    """The module's error reaches the runtime that called it and leaves the other one's slot alone."""
    before = other.raised() if other else ""
    a = aligned(np.zeros(5, np.float64))
    f = aligned(np.zeros((5, 5), np.float32))
    for arrays, word in ([a, a], "dtype"), ([f, f], "ndim"):
        try:
            runtime.call(module, "addone", *arrays)
        except Exception as e:
            assert word in str(e) and "addone" in str(e), f"unreadable: {e!r}"
            assert isinstance(e, OursError) == isinstance(runtime, Ours), repr(e)
        else:
            raise AssertionError(f"wrong {word} was accepted")
    after = other.raised() if other else ""
    assert before == after, f"the other runtime sees {after!r}"


def both(ours, peer, path, order, times=1):
    """Loads path with each runtime in this order, uses them alternately, frees them in either order."""
    runtimes = {"ours": (ours, peer), "peer": (peer, ours)}
    for i in range(times):
        loaded = {who: runtimes[who][0].load(path) for who in order}
        for who in (*order, *order[::-1]):
            runtime, other = runtimes[who]
            good(runtime, loaded[who])
            bad(runtime, other, loaded[who])
        leaving = order if i % 2 else order[::-1]
        for who in leaving:
            runtimes[who][0].free(loaded.pop(who))
            for left in loaded:  # who stays, stays whole
                good(runtimes[left][0], loaded[left])
                bad(*runtimes[left], loaded[left])


def main(order, library, *paths):
    if order.startswith("peer"):
        peer = Peer()
        ours = Ours(library)
        for path in paths:
            both(ours, peer, path, ["ours", "peer"] if order == "peer-then-ours-load" else ["peer", "ours"])
        return
    ours = Ours(library)
    held = []
    if order == "ours-load-then-peer":
        for path in paths:
            held.append(ours.load(path))
            good(ours, held[-1])
            bad(ours, None, held[-1])
    peer = Peer()
    for path, module in zip(paths, held):
        theirs = peer.load(path)
        for _ in range(2):
            good(ours, module)
            bad(ours, peer, module)
            good(peer, theirs)
            bad(peer, ours, theirs)
        ours.free(module)
        good(peer, theirs)
        bad(peer, ours, theirs)
    for path in paths:
        both(ours, peer, path, ["ours", "peer"])
        if order == "churn":
            both(ours, peer, path, ["peer", "ours"], times=5)
            both(ours, peer, path, ["ours", "peer"], times=5)


main(*sys.argv[1:])
print("ok")
