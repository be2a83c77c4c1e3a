"""Modules that Apache TVM exported, through both ABIs: modules.py LIBRARY ARTIFACTS FILE...

Each function of each file is run on numpy arrays and must return the same results as in Apache TVM.
"""

import os
import sys
import traceback

import numpy as np

import abi

library, artifacts, *files = sys.argv[1:]
lib = abi.Library(library)


def case(name):
    def read(part):
        return np.load(os.path.join(artifacts, f"{name}_{part}.npy"))

    count = 2 if name in ("vadd", "matmul") else 1
    return [abi.aligned(read(f"in{i}")) for i in range(count)], read("out")


def check(name, call):
    inputs, want = case(name)
    out = abi.aligned(np.full_like(want, np.nan))
    before = [a.copy() for a in inputs]
    call(*inputs, out)
    assert np.allclose(out, want, rtol=1e-5, atol=1e-5), f"{name} is off by {np.abs(out - want).max()}"
    assert all(np.array_equal(a, b) for a, b in zip(inputs, before)), f"{name} changed its input"


def names_in(path):
    return ["addone"] if "addone" in os.path.basename(path) else ["addone", "vadd", "matmul", "softmax"]


def modern(path):
    module = lib.load(path)
    for name in names_in(path):
        f = lib.get_function(module, name)
        assert f is not None, f"{path} has no {name}"
        check(name, f)
    assert lib.get_function(module, "no_such_function") is None
    f = lib.get_function(module, "addone")
    module.release()  # the function keeps the file
    check("addone", f)
    wrong = abi.aligned(np.zeros(1024))
    e = abi.fails(abi.FFIError, "dtype", f, wrong, wrong)
    assert e.kind.endswith("Error") and lib.raised() is None, e
    abi.fails(abi.FFIError, "ndim", f, *[wrong.astype(np.float32).reshape(32, 32)] * 2)


def classic(path):
    module = lib.load_classic(path)
    for name in names_in(path):
        f = lib.get_function_classic(module, name)
        assert f, f"{path} has no {name}"
        check(name, lambda *arrays: lib.call_classic(f, *arrays))
        lib.check_classic(lib.TVMFuncFree(f))
    assert not lib.get_function_classic(module, "no_such_function")
    f = lib.get_function_classic(module, "addone")
    lib.check_classic(lib.TVMModFree(module))
    check("addone", lambda *arrays: lib.call_classic(f, *arrays))
    wrong = abi.aligned(np.zeros(1024))
    abi.fails(abi.ClassicError, "dtype", lib.call_classic, f, wrong, wrong)
    lib.check_classic(lib.TVMFuncFree(f))


def forked(path):
    """As in multiprocessing: the child computes with modules that its parent loaded, and loads none."""
    f = lib.get_function(lib.load(path), "addone")
    child = os.fork()
    if child == 0:
        try:
            check("addone", f)
            e = abi.fails(abi.FFIError, "after fork only exec is safe", lib.load, path)
            assert path in e.message and e.kind == "RuntimeError", e
            abi.fails(abi.ClassicError, "after fork only exec is safe", lib.load_classic, path)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


for path in files:
    modern(path)
    classic(path)
    forked(path)
e = abi.fails(abi.FFIError, "missing.so", lib.load, "missing.so")
assert e.message.startswith("load missing.so: "), e
abi.fails(abi.ClassicError, "missing.so", lib.load_classic, "missing.so")
e = abi.fails(abi.FFIError, "ffi.ModuleLoadFromFile", lib.get_global("ffi.ModuleLoadFromFile"), 3)
assert e.kind == "TypeError", e
assert lib.get_global("no.such.global") is None
assert not {"tvm", "tvm_ffi"} & set(sys.modules)
print("ok")
