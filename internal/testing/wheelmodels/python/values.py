"""Types and shapes: every element type, symbolic shapes, values of shapes, in-place updates, packed functions."""

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from models import program, random


def arithmetic(dtype):
    """x + y, x * y, comparisons, sums and casts of one element type."""
    bb = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    x, y = (relax.Var(s, relax.TensorType((n, 4), dtype)) for s in "xy")
    op = relax.op
    with bb.function("main", [x, y]):
        with bb.dataflow():
            if dtype == "bool":
                parts = [op.logical_and(x, y), op.logical_or(x, y), op.logical_not(x), op.logical_xor(x, y)]
            else:
                parts = [op.add(x, y), op.multiply(x, y), op.maximum(x, y), op.greater(x, y), op.sum(x, axis=1)]
                if dtype.startswith(("int", "uint")):
                    parts += [op.bitwise_xor(x, y), op.left_shift(x, relax.const(1, dtype))]
                else:
                    parts += [op.exp(x), op.divide(x, relax.const(4, dtype))]
            parts += [op.astype(x, "float32"), op.where(op.astype(y, "bool"), x, relax.op.zeros_like(x))]
            out = bb.emit_output(relax.Tuple([bb.normalize(p) for p in parts]))
        bb.emit_func_output(out)
    return bb.get()


for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float64"):
    ways = ("llvm", "llvm_compiled") if dtype == "float16" else ("llvm", "c")
    program(f"type_{dtype}", arithmetic(dtype),
            [("main", [random("x", n, 4, dtype=dtype), random("y", n, 4, dtype=dtype)]) for n in (1, 6)]
            + [("main", [random("x", 2, 4, dtype="float32"), random("y", 2, 4, dtype=dtype)])], ways=ways)


@I.ir_module
class Quantized:
    @R.function
    def main(x: R.Tensor(("n", 16), "int8"), w: R.Tensor((16, 8), "int8"), scale: R.Tensor((8,), "float32")):
        with R.dataflow():
            acc = R.matmul(x, w, out_dtype="int32")
            y = R.multiply(R.astype(acc, "float32"), scale)
            z = R.astype(R.clip(R.round(y), -128, 127), "int8")
            out = (acc, z)
            R.output(out)
        return out


program("quantized", Quantized, [
    ("main", [random("q", n, 16, dtype="int8"), random("w", 16, 8, dtype="int8"), random("s", 8)]) for n in (1, 5)])


@I.ir_module
class Shapes:
    """Shapes as arguments, results and values."""

    @R.function
    def of(x: R.Tensor(("n", "m", 3), "float32")):
        return R.shape_of(x)

    @R.function
    def sizes(x: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        return (R.shape([n * m, n + m, n // 2]), R.prim_value(n * 10 + m), R.prim_value(7))

    @R.function
    def flatten(x: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        return R.reshape(x, R.shape([n * m]))

    @R.function
    def as_given(x: R.Tensor(("n",), "float32"), s: R.Shape(["a", "b"])):
        a = T.int64()
        b = T.int64()
        y = R.match_cast(x, R.Tensor((a * b,), "float32"))
        return R.reshape(y, R.shape([a, b]))

    @R.function
    def from_tensor(x: R.Tensor((6,), "float32"), s: R.Tensor((2,), "int64")):
        shape: R.Shape(ndim=2) = R.tensor_to_shape(s)
        a = T.int64()
        b = T.int64()
        known = R.match_cast(shape, R.Shape([a, b]))
        return (R.reshape(x, R.shape([a, b])), known)

    @R.function
    def to_tensor(s: R.Shape(["a", "b", "c"])):
        return R.shape_to_tensor(s)

    @R.function
    def filled(s: R.Shape(["a", "b"])):
        a = T.int64()
        b = T.int64()
        return R.full(R.shape([a, b]), R.const(2.0, "float32"), "float32")


three = np.arange(6, dtype="float32")
program("shapes", Shapes, [
    ("of", [random("s", 2, 5, 3)]), ("of", [random("s", 2, 5, 4)]), ("sizes", [random("s", 3, 4)]),
    ("flatten", [random("s", 3, 4)]), ("as_given", [three, tvm_ffi.Shape([2, 3])]),
    ("as_given", [three, tvm_ffi.Shape([4, 3])]), ("as_given", [three, tvm_ffi.Shape([6])]),
    ("from_tensor", [three, np.array([3, 2])]), ("from_tensor", [three, np.array([1, 6])]),
    ("filled", [tvm_ffi.Shape([2, 3])]), ("filled", [tvm_ffi.Shape([0, 3])]), ("filled", [tvm_ffi.Shape([2])]),
    ("to_tensor", [tvm_ffi.Shape([3, 1, 2])]),
])


@I.ir_module
class Casts:
    """match_cast of tensors, tuples and shapes; prim values as parameters; symbolic expressions in shapes."""

    @R.function
    def dynamic(x: R.Tensor(dtype="float32", ndim=2)):
        n = T.int64()
        m = T.int64()
        y = R.match_cast(x, R.Tensor((n, m), "float32"))
        return (R.add(y, y), R.shape([m, n]))

    @R.function
    def untyped(x: R.Tensor):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n, 4), "int32"))
        return R.multiply(y, y)

    @R.function
    def anything(x: R.Any):
        n = T.int64()
        y = R.match_cast(x, R.Tuple(R.Tensor((n,), "float32"), R.Tensor((n + 1,), "float32")))
        return y[1]

    @R.function
    def halves(x: R.Tensor(("n * 2",), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.concat((x, y), axis=0)

    @R.function
    def typed(i: R.Prim("int64"), f: R.Prim("float64"), b: R.Prim("bool")):
        return (i, f, b)


program("casts", Casts, [
    ("dynamic", [random("d", 2, 3)]), ("dynamic", [random("d", 2, 3, 4)]),
    ("dynamic", [random("d", 2, 3).T.astype("f8")]),
    ("untyped", [random("u", 3, 4, dtype="int32")]), ("untyped", [random("u", 3, 4)]),
    ("anything", [(random("a", 3), random("b", 4))]), ("anything", [(random("a", 3), random("b", 5))]),
    ("anything", [random("a", 3)]), ("halves", [random("h", 6), random("h", 3)]),
    ("halves", [random("h", 6), random("h", 4)]),
    ("typed", [3, 0.25, True]), ("typed", [3, 2, True]), ("typed", ["3", 0.25, False]),
])


@I.ir_module
class Dynamic:
    """A kernel with integers that are no dimensions of its tensors."""

    @T.prim_func(private=True)
    def ramp(x: T.handle, k: T.int64, m: T.int64, out: T.handle):
        n = T.int64()
        a = T.match_buffer(x, (n,), "int64")
        b = T.match_buffer(out, (n,), "int64")
        for i in range(n):
            b[i] = a[i] * k + m

    @R.function
    def main(x: R.Tensor(("n",), "int64"), s: R.Shape(["k", "m"])):
        n = T.int64()
        k = T.int64()
        m = T.int64()
        y = R.call_tir(Dynamic.ramp, (x, R.prim_value(k), R.prim_value(m + n)), out_ty=R.Tensor((n,), "int64"))
        return y


program("dynamic", Dynamic, [
    ("main", [random("r", n, dtype="int64"), tvm_ffi.Shape(s)]) for n, s in ((4, [3, 4]), (1, [0, 0]))])


@I.ir_module
class InPlace:
    @T.prim_func(private=True)
    def increment(x: T.Buffer((2, 3), "int32")):
        for i, j in T.grid(2, 3):
            x[i, j] = x[i, j] + 1

    @T.prim_func(private=True)
    def move(x: T.Buffer((3,), "float32"), y: T.Buffer((3,), "float32"), out: T.Buffer((3,), "float32")):
        for i in range(3):
            out[i] = x[i] + y[i]
            x[i] = T.float32(0)

    @R.function(pure=False)
    def update(x: R.Tensor((2, 3), "int32")):
        y = R.call_tir_inplace(InPlace.increment, (x,), [0], out_ty=R.Tensor((2, 3), "int32"))
        return y

    @R.function(pure=False)
    def empty(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        z = R.call_tir_inplace(InPlace.move, (x, y), [0, -1],
                               out_ty=[R.Tensor((3,), "float32"), R.Tensor((3,), "float32")])
        return z[1]

    @R.function
    def copied(x: R.Tensor((2, 3), "int32")):
        copy = R.add(x, R.const(0, "int32"))
        y = R.call_tir_inplace(InPlace.increment, (copy,), [0], out_ty=R.Tensor((2, 3), "int32"))
        return (x, y)


program("in_place", InPlace, [
    ("update", [random("i", 2, 3, dtype="int32")]), ("empty", [random("x", 3), random("y", 3)]),
    ("copied", [random("i", 2, 3, dtype="int32")]),
])


@tvm_ffi.register_global_func("wheelmodels.twice")
def twice(x):
    return tvm.runtime.tensor(x.numpy() * 2)


@tvm_ffi.register_global_func("wheelmodels.add")
def add(x, y, out):
    out.copyfrom(x.numpy() + y.numpy())


@tvm_ffi.register_global_func("wheelmodels.describe")
def describe(name, dtype, shape, number, fraction):
    return f"{name} {dtype} {list(shape)} {number} {fraction}"


@I.ir_module
class Packed:
    """Functions of the program that runs the model: see Globals of package wheelmodels."""

    @R.function
    def dps(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
        n = T.int64()
        z = R.call_dps_packed("wheelmodels.add", (x, y), out_ty=R.Tensor((n,), "float32"))
        return R.multiply(z, x)

    @R.function
    def pure(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_pure_packed("wheelmodels.twice", x, ty_args=R.Tensor((n,), "float32"))
        return R.add(y, x)

    @R.function(pure=False)
    def constants(s: R.Shape(["n", "m"])):
        n = T.int64()
        y = R.call_packed("wheelmodels.describe", R.str("text"), R.dtype("float16x4"), s, R.prim_value(n),
                          R.prim_value(T.float64(0.5)), ty_args=R.Any)
        return y


packed = [("dps", [random("x", 4), random("y", 4)]), ("pure", [random("x", 5)]),
          ("constants", [tvm_ffi.Shape([3, 4])])]
program("packed", Packed, packed)


@I.ir_module
class Missing:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        y = R.call_packed("wheelmodels.missing", x, ty_args=R.Any)
        return y


program("missing", Missing, [], ways=("llvm",))  # cannot be initialized: the function is not registered


@I.ir_module
class Strings:
    @R.function
    def main():
        return (R.str("é ☃"), R.str(""), R.dtype("int8"), R.prim_value(-(1 << 60)), R.shape([]),
                R.shape([1, 1 << 40]))

    @R.function
    def tensors():
        return (R.const(np.arange(6, dtype="int16").reshape(2, 3)), R.const(2.5, "float64"))


program("strings", Strings, [("main", []), ("tensors", [])])
