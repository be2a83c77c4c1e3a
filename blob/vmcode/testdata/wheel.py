"""Makes executables with Apache TVM, and reads those that the test has written.

wheel.py make FOLDER: for each program NAME.vm, and what TVM prints of it: NAME.txt (as_text), NAME.py (as_python),
NAME.stats.
wheel.py read FOLDER: for each NAME.ours: NAME.again (the file that TVM writes), NAME.text (as_text).
"""

import glob
import os
import struct
import sys

import numpy as np
import tvm
from tvm import relax
from tvm.relax import ExecBuilder
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


def tensor(value):
    return tvm.runtime.tensor(value)


def operands():
    """All kinds of operands and constants."""
    b = ExecBuilder()
    constants = [
        tensor(np.arange(6, dtype="float32").reshape(2, 3)),
        tensor(np.float16(3)),
        tensor(np.array([True, False])),
        tensor(np.zeros((0, 4), dtype="int64")),
        tvm.DataType("float16"),
        tvm.DataType("int8x4"),
        tvm.DataType("bool"),
        tvm.DataType("handle"),
        tvm.runtime.ShapeTuple([1, 2, 1 << 40]),
        "a text with spaces, and äöü",
        "",
        1 << 60,
        -(1 << 62),
    ]
    with b.function("main", num_inputs=2, param_names=["first", "second"]):
        all = [b.convert_constant(c) for c in constants]
        integers = [b.imm(-7), b.imm((1 << 55) - 1), b.imm(1 - (1 << 55))]
        b.emit_call("vm.builtin.make_tuple", args=all + integers, dst=b.r(2))
        b.emit_call("test.long_name_of_a_function", args=[b.vm_state(), b.void_arg(), b.r(2), b.f("main")])
        b.emit_call("main", args=[b.r(0), b.r(1)], dst=b.r(3))
        b.emit_ret(b.r(3))
    return b


def jumps():
    """Branches, loops, several functions, and functions that are called before they are defined."""
    b = ExecBuilder()
    b.declare_function("later", 1)
    with b.function("loop", num_inputs=1):
        b.emit_call("vm.builtin.copy", args=[b.r(0)], dst=b.r(1))
        b.emit_if(b.r(1), 3)
        b.emit_call("later", args=[b.r(1)], dst=b.r(1))
        b.emit_goto(-2)
        b.emit_ret(b.r(1))
    with b.function("later", num_inputs=1, param_names=["x"]):
        b.emit_if(b.r(0), 3)
        b.emit_call("test.a", dst=b.r(1))
        b.emit_goto(2)
        b.emit_call("test.b", dst=b.r(1))
        b.emit_ret(b.r(1))
    with b.function("nothing"):
        b.emit_ret(b.void_arg())
    return b


def scopes():
    """Memory scopes: the section for them is inserted into what the builder writes."""
    b = ExecBuilder()
    n = 9
    with b.function("main", num_inputs=0):
        all = [b.convert_constant(tensor(np.full((2,), i, dtype="float32"))) for i in range(n)]
        b.emit_call("vm.builtin.make_tuple", args=all, dst=b.r(0))
        b.emit_ret(b.r(0))
    return b, n


def insert_scopes(data, n):
    at = data.index(struct.pack("<Qi", n, 70))
    section = struct.pack("<Q", 4)
    for i, name in ((5, b"global"), (1, b"global.texture"), (8, b"global"), (0, b"global.texture-weight")):
        section += struct.pack("<qQ", i, len(name)) + name
    return data[: at - 8] + section + data[at:]


@I.ir_module
class Model:
    @T.prim_func(private=True)
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32"), cond: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Model
        if cond:
            y = R.call_tir(cls.double, (x,), out_ty=R.Tensor((4,), "float32"))
        else:
            y = R.add(x, R.const(np.arange(4, dtype="float32")))
        return y

    @R.function
    def dynamic(x: R.Tensor(("n", "m"), "float32")) -> R.Tuple(R.Tensor(("m", "n"), "float32"), R.Shape(["n", "m"])):
        n, m = T.int64(), T.int64()
        y = R.permute_dims(x)
        s = R.shape([n, m])
        return (y, s)


def modules():
    for f in (operands, jumps):
        yield f.__name__, f().get().mod
    b, n = scopes()
    yield "scopes", (b.get().mod, n)
    for mode in ("bytecode", "compiled"):
        yield "model_" + mode, relax.build(Model, target="llvm", exec_mode=mode).mod


def write(path, data, mode="wb"):
    with open(path, mode) as f:
        f.write(data)


def saved(module, path):
    module.write_to_file(path)
    with open(path, "rb") as f:
        return f.read()


load = tvm.get_global_func("ffi.Module.load_from_bytes.relax.VMExecutable")

if sys.argv[1] == "make":
    for name, module in modules():
        path = os.path.join(sys.argv[2], name)
        if name == "scopes":
            module, n = module
            module = load(insert_scopes(saved(module, path + ".vm"), n))
        saved(module, path + ".vm")
        write(path + ".txt", module["as_text"](), "w")
        write(path + ".stats", module["stats"](), "w")
        write(path + ".py", module["as_python"](), "w")
else:
    for path in glob.glob(os.path.join(sys.argv[2], "*.ours")):
        with open(path, "rb") as f:
            module = load(f.read())
        saved(module, path.replace(".ours", ".again"))
        write(path.replace(".ours", ".text"), module["as_text"](), "w")
