"""Loads a library of package te in Apache TVM's runtime; functions of both call each other: roundtrip.py OURS THEIRS"""
import os
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1"

import numpy as np
import tvm
import tvm_ffi

ours, theirs = tvm_ffi.load_module(sys.argv[1]), tvm_ffi.load_module(sys.argv[2])
tensor = tvm.runtime.tensor
rng = np.random.default_rng(0)


def empty(*shape):
    return tensor(np.full(shape, -1, dtype="float32"))


# serial, with scratch memory, with threads; sizes that no tile divides, 1 and 0
for n in (37, 1, 0):
    a, b = rng.random((n, 7), dtype="float32"), rng.random((7, 29), dtype="float32")
    for name in ("plain", "workspace", "parallel"):
        out = empty(n, 29)
        ours[name](tensor(a), tensor(b), out)
        np.testing.assert_allclose(out.numpy(), np.maximum(a @ b, 0.5), rtol=1e-5)
print("numbers")

# a tvmgo function calls Python
seen = []


@tvm_ffi.register_global_func("roundtrip.python")
def python(x, scale, text):
    seen.append((tuple(x.shape), scale, text))
    if scale > 2:
        raise ValueError("a scale that Python rejects")
    return float(x.shape[0]) * scale  # x is borrowed: a NumPy array could not keep it alive


x = rng.random(5, dtype="float32")
out = empty(5)
ours["calls_python"](tensor(x), out, 2.0)
np.testing.assert_allclose(out.numpy(), x + np.float32(10), rtol=1e-5)
assert seen == [((5,), 2.0, "a text")], seen
try:
    ours["calls_python"](tensor(x), out, 3.0)
    raise SystemExit("a Python error was lost")
except ValueError as e:
    assert "a scale that Python rejects" in str(e), e
print("python")

# a tvmgo function calls a function of a library that TVM exported: as a global one, and through an imported module
y = rng.random(1024, dtype="float32")
z = rng.random(1024, dtype="float32")
tvm_ffi.register_global_func("roundtrip.vadd", theirs["vadd"])
out = empty(1024)
ours["calls_vadd"](tensor(y), tensor(z), out)
np.testing.assert_array_equal(out.numpy(), y + z)
ours.import_module(theirs)
out = empty(1024)
ours["calls_import"](tensor(y), tensor(z), out)
np.testing.assert_array_equal(out.numpy(), y + z)
print("theirs")

# a TVM function gets a tvmgo function as its argument
tvm_ffi.register_global_func("roundtrip.ours", ours["plain"])
again = tvm_ffi.get_global_func("roundtrip.ours")
a, b = rng.random((3, 7), dtype="float32"), rng.random((7, 29), dtype="float32")
out = empty(3, 29)
again(tensor(a), tensor(b), out)
np.testing.assert_allclose(out.numpy(), np.maximum(a @ b, 0.5), rtol=1e-5)
try:
    again(tensor(a), tensor(b), empty(3, 28))
    raise SystemExit("a wrong shape was accepted")
except ValueError as e:
    print(str(e).splitlines()[0])
