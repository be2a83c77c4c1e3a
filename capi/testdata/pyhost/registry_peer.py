"""Everything registered in libtvmgo.so before and after the first use of targets, compared with Apache TVM's wheels.

registry_peer.py LIBRARY ORDER
"""

import ctypes
import importlib.util
import os
import sys
import tempfile
from ctypes import byref, c_int32, c_void_p

import abi

library = abi.Library(sys.argv[1])
order = sys.argv[2]
KEYS = ("target.TargetKind", "target.Target")


def byte_array(text):
    data = text.encode()
    return abi.ByteArray(ctypes.cast(ctypes.c_char_p(data), c_void_p), len(data))


def call(name, *args, lib=library):
    return lib.get_global(name)(*args)


def global_names():
    at = call("ffi.FunctionListGlobalNamesFunctor")
    return [at(i) for i in range(at(-1))]


def type_keys(lib=library):
    keys = call("ffi.GetRegisteredTypeKeys", lib=lib)
    return [call("ffi.ArrayGetItem", keys, i, lib=lib) for i in range(call("ffi.ArraySize", keys, lib=lib))]


def stderr_of(f):
    """The output of f on stderr."""
    with tempfile.TemporaryFile() as log:
        before = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            f()
        finally:
            os.dup2(before, 2)
            os.close(before)
        log.seek(0)
        return log.read().decode()


def register_type(key):
    index = library.TVMFFITypeGetOrAllocIndex(byref(byte_array(key)), -1, 1, 0, 0, abi.OBJECT)
    assert index > 0
    return index


names = global_names()
assert not [n for n in names if n.startswith("target.")]
assert not set(KEYS) & set(type_keys())

if order == "first-use":
    folder = importlib.util.find_spec("tvm_ffi").submodule_search_locations[0]
    theirs = type_keys(abi.Library(os.path.join(folder, "lib", "libtvm_ffi.so"),
                                   classic=False))  # before Python adds types
    assert type_keys() == theirs
    import tvm_ffi

    metadata = tvm_ffi.get_global_func("ffi.GetGlobalFuncMetadata")
    assert stderr_of(lambda: library.get_global("target.Target")) == ""
    assert type_keys() == theirs + list(KEYS)
    later = [n for n in global_names() if n not in names]
    assert "target.Target" in later and "target.build.c" in later and all(n.startswith("target.") for n in later), later
    import tvm  # noqa: F401  registers the compiler's functions

    known = set(tvm_ffi.registry.list_global_func_names())
    compared = 0
    for name in global_names():
        ours = call("ffi.GetGlobalFuncMetadata", name)
        assert ours, name
        if name in known and not name.startswith("target.build."):  # these take programs as text here
            assert ours == str(metadata(name)), (name, ours, metadata(name))
            compared += 1
    assert compared > 100, compared
    assert call("ffi.FunctionRemoveGlobal", "target.WithHost")
    assert library.get_global("target.WithHost") is None
elif order == "by-type":
    index = c_int32()
    assert library.TVMFFITypeKeyToIndex(byref(byte_array("target.Target")), byref(index)) == 0
    assert set(KEYS) <= set(type_keys()) and "target.Target" in global_names()
elif order == "layout-only":  # as C++ code does that was compiled against the headers of TVM
    index = register_type("target.Target")
    target = call("target.Target", "llvm")
    assert c_int32.from_address(target.handle + 8).value == index
elif order == "foreign-types":
    index = register_type("target.Target")
    metadata = (ctypes.c_uint8 * 64)()
    assert library.TVMFFITypeRegisterMetadata(index, byref(metadata)) == 0
    log = stderr_of(lambda: library.get_global("target.Target"))
    assert log.count("\n") == 1 and "another library has registered the types target.Target" in log, log
    assert stderr_of(lambda: library.get_global("target.WithHost")) == ""
    abi.fails(abi.FFIError, "another library has registered the types", call, "target.Target", "llvm")
    assert call("target.ListTargetKinds")
elif order == "foreign-function":
    body = abi.SafeCall(lambda self, args, n, ret: 0)
    theirs = library.function(body)
    assert library.TVMFFIFunctionSetGlobal(byref(byte_array("target.WithHost")), c_void_p(theirs.handle), 0) == 0
    log = stderr_of(lambda: library.get_global("target.Target"))
    assert log == ("tvmgo: another library has registered target.WithHost before targets were used here: "
                   "they are left as they are\n"), log
    assert library.get_global("target.WithHost").handle == theirs.handle
    assert call("target.Target", "llvm").handle
print("ok")
