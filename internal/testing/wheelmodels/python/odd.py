"""What models seldom have: shapes with arithmetic, tensors of no element or no dimension, bfloat16, prim values and
shapes in tuples of tuples, closures in tuples, functions with attributes."""

import ml_dtypes
import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from models import lifted, program, random


@I.ir_module
class Arithmetic:
    """Dimensions that are computed: products, quotients, remainders, minima, and checks against them."""

    @R.function
    def mixed(x: R.Tensor(("a", "b"), "float32")):
        a = T.int64()
        b = T.int64()
        return (R.zeros(R.shape([a * 2 + b // 3]), "float32"),
                R.shape([a * 2 + b // 3, a % b, T.max(a, b), T.min(a, b)]), R.prim_value(a * a - b * 7))

    @R.function
    def checked(x: R.Tensor(("a",), "float32"), y: R.Tensor(("b",), "float32"),
                z: R.Tensor(("a * 2 + b // 3",), "float32")):
        return R.add(z, z)

    @R.function
    def result(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n * m",), "float32"):
        n = T.int64()
        m = T.int64()
        y = R.match_cast(R.flatten(x), R.Tensor((n * m,), "float32"))
        return y

    @R.function
    def wrong(x: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        y = R.call_pure_packed("vm.builtin.copy", R.flatten(x), ty_args=R.Any)
        z = R.match_cast(y, R.Tensor((n + m,), "float32"))
        return z

    @R.function
    def sliced(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        return R.strided_slice(x, axes=[0], begin=[n // 2], end=[n])

    @R.function
    def slices(x: R.Tensor((8, 4), "float32"), b: R.Tensor((2,), "int64"), e: R.Tensor((2,), "int64"),
               s: R.Tensor((2,), "int64")):
        return R.dynamic_strided_slice(x, b, e, s)


whole = np.array([0, 1])
program("arithmetic", Arithmetic, [
    *[("mixed", [random("m", a, b)]) for a, b in ((2, 3), (1, 1), (7, 4), (0, 5))],
    ("checked", [random("a", 2), random("b", 7), random("c", 6)]),
    ("checked", [random("a", 2), random("b", 7), random("c", 7)]),
    ("result", [random("r", 3, 4)]), ("result", [random("r", 0, 4)]), ("wrong", [random("r", 2, 2)]),
    ("wrong", [random("r", 2, 3)]), *[("sliced", [random("s", n, 4)]) for n in (0, 1, 5)],
    ("slices", [random("s", 8, 4), whole, np.array([8, 3]), np.array([3, 1])]),
])


@I.ir_module
class Small:
    """No element, no dimension."""

    @R.function
    def empty(x: R.Tensor(("n", 3), "float32"), y: R.Tensor((3, 0), "float32")):
        # The sum of no row is not stored by kernels of TVM: there is no test of it.
        return (R.matmul(x, y), R.add(x, x), R.sum(x, axis=1), R.concat((x, x), axis=0))

    @R.function
    def scalar(x: R.Tensor((), "float32"), y: R.Tensor((), "int64")):
        z = R.add(x, R.astype(y, "float32"))
        return (z, R.reshape(z, (1, 1)), R.shape_of(z), R.expand_dims(z, axis=0))

    @R.function
    def constants():
        return (R.const(np.zeros((0, 2), "float32")), R.const(np.array(3, "int64")), R.const(np.array(True)))

    @R.function
    def flat(x: R.Tensor(("n", "m"), "int32")):
        n = T.int64()
        m = T.int64()
        return R.reshape(x, R.shape([m, n]))


program("small", Small, [
    *[("empty", [random("e", n, 3), random("f", 3, 0)]) for n in (0, 2)],
    ("scalar", [np.array(1.5, "float32"), np.array(-7)]), ("scalar", [random("s", 1), np.array(1)]),
    ("constants", []), *[("flat", [random("f", n, m, dtype="int32")]) for n, m in ((0, 0), (0, 4), (2, 3))],
])


@I.ir_module
class Brain:
    """bfloat16, and bool and uint8 as parameters of one function."""

    @R.function
    def half(x: R.Tensor(("n",), "bfloat16"), y: R.Tensor(("n",), "float16")):
        return (R.add(x, x), R.astype(x, "float32"), R.astype(y, "bfloat16"), R.multiply(y, y))

    @R.function
    def picked(mask: R.Tensor(("n",), "bool"), x: R.Tensor(("n",), "uint8"), y: R.Tensor(("n",), "int64")):
        return (R.where(mask, R.astype(x, "int64"), y), R.logical_not(mask), R.sum(y))


program("brain", Brain, [
    ("half", [np.arange(5).astype(ml_dtypes.bfloat16), random("y", 5, dtype="float16")]),
    ("half", [random("x", 5), random("y", 5, dtype="float16")]),
    ("picked", [random("m", 6, dtype="bool"), random("x", 6, dtype="uint8"), random("y", 6, dtype="int64")]),
    ("picked", [random("m", 6, dtype="uint8"), random("x", 6, dtype="uint8"), random("y", 6, dtype="int64")]),
], ways=("llvm",))


@I.ir_module
class Prims:
    """Prim values and shapes in tuples of tuples, as parameters and results."""

    @R.function
    def nested(t: R.Tuple(R.Prim("int64"), R.Tuple(R.Prim("bool"), R.Tensor(("n",), "float32")), R.Shape(ndim=2))):
        return ((t[2], t[1]), t[0], t[1][1])


program("prims", Prims, [
    ("nested", [(3, (True, random("p", 2)), tvm_ffi.Shape([4, 5]))]),
    ("nested", [(3, (True, random("p", 2)), tvm_ffi.Shape([4]))]),
    ("nested", [(3, (True,), tvm_ffi.Shape([4, 5]))]), ("nested", [(3, True, tvm_ffi.Shape([4, 5]))]),
    ("nested", [((), (True, random("p", 2)), tvm_ffi.Shape([4, 5]))]),
])


@I.ir_module
class Kept:
    """Closures in tuples, that are called through them and returned; recursion through three functions."""

    @R.function
    def two(x: R.Tensor((2,), "float32")) -> R.Tuple(
            R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")),
            R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32"))):
        @R.function
        def plus(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(z, x)

        @R.function
        def times(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.multiply(z, x)

        return (plus, times)

    @R.function
    def used(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        t = Kept.two(x)
        f = t[0]
        g = t[1]
        return f(g(f(y)))

    @R.function
    def a(n: R.Tensor((), "int32"), s: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        if R.greater(n, R.const(0, "int32")):
            r = Kept.b(R.subtract(n, R.const(1, "int32")), R.add(s, R.const(1, "int32")))
        else:
            r = s
        return r

    @R.function
    def b(n: R.Tensor((), "int32"), s: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        r = Kept.c(n, R.multiply(s, R.const(2, "int32")))
        return r

    @R.function
    def c(n: R.Tensor((), "int32"), s: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        if R.less(n, R.const(0, "int32")):
            r = s
        else:
            r = Kept.a(n, s)
        return r


program("kept", lifted(Kept), [
    ("two", [random("x", 2)]), ("used", [random("x", 2), random("y", 2)]),
    *[("a", [np.array(n, "int32"), np.array(1, "int32")]) for n in (0, 1, 6)],
])


@I.ir_module
class Attributed:
    """A function whose first input is data and whose others are parameters."""

    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 3), "float32"), b: R.Tensor((3,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            y = R.add(R.matmul(x, w), b)
            R.output(y)
        return y


program("attributed", Attributed, [
    ("main", [random("x", n, 4), random("w", 4, 3), random("b", 3)]) for n in (1, 5)])
