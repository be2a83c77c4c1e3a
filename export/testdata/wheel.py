"""What Apache TVM's own runtime makes of libraries exported here: wheel.py ACTION FILE..."""
import os
import struct
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1" if sys.argv[1] != "pack" else ""
if not os.environ["TVM_USE_RUNTIME_LIB"]:
    del os.environ["TVM_USE_RUNTIME_LIB"]

import numpy as np
import tvm
import tvm_ffi


def call(path):
    """Calls the functions of kernels.c."""
    m = tvm_ffi.load_module(path)
    assert m.kind == "library", m.kind
    assert m["add_one"](41) == 42
    a, b = np.arange(1000, dtype="float32"), np.full(1000, 0.5, dtype="float32")
    out = np.zeros(1000, dtype="float32")
    for name, args, want in [
        ("vadd", [a, b], a + b),
        ("reverse", [a], a[::-1]),
        ("twice", [a], 2 * a),
    ]:
        tensors = [tvm.runtime.tensor(x) for x in args] + [tvm.runtime.tensor(out)]
        m[name](*tensors)
        np.testing.assert_allclose(tensors[-1].numpy(), want)
    return m


def kinds(m):
    return [m.kind] + [k for i in m.imports for k in kinds(i)]


def main():
    action, files = sys.argv[1], sys.argv[2:]
    if action == "call":
        for f in files:
            print(*kinds(call(f)))
    elif action == "refuse":  # files whose imports this runtime has no loader for
        for f in files:
            try:
                tvm_ffi.load_module(f)
            except Exception as e:
                print(str(e).splitlines()[0])
            else:
                print("loaded")
    elif action == "load":  # exactly what each loads as, and its functions
        for f in files:
            print(*kinds(tvm_ffi.load_module(f)))
    elif action == "pack":  # how TVM itself packs a source that imports sources and constants
        get = tvm_ffi.get_global_func
        source = get("runtime.CSourceModuleCreate")
        constants = get("ffi.Module.load_from_bytes.const_loader")
        root, one, two = (source(text, "c", [], []) for text in ("int a;\n", "int b;\n", "int c;\n"))
        c, d = (constants(struct.pack("<4Q", 0, 0, 0, 0)) for _ in range(2))
        for parent, deps in [(root, [c, one]), (one, [two, d])]:
            for dep in deps:
                parent.import_module(dep)
        print(bytes(get("runtime.ModulePackImportsToTensor")(root).numpy()).hex())


main()
