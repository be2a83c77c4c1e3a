"""Control flow: tuples, branches, recursion, closures, several functions."""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from models import lifted, program, random


@I.ir_module
class Tuples:
    @R.function
    def nest(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32")):
        return (x, (y, (x, R.tuple())), R.add(x, y))

    @R.function
    def unnest(t: R.Tuple(R.Tensor((2,), "float32"), R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "int32")))):
        inner = t[1]
        y = R.subtract(t[0], inner[0])
        return ((y, t[1]), inner[1])

    @R.function
    def swap(t: R.Tuple(R.Tensor(("n",), "float32"), R.Tensor(("m",), "float32"))):
        return (t[1], t[0])

    @R.function
    def empty():
        return R.tuple()


pair = (random("a", 2), (random("b", 2), random("c", 2, dtype="int32")))
program("tuples", Tuples, [
    ("nest", [random("x", 2, 3), random("y", 3)]), ("unnest", [pair]), ("unnest", [pair[:1]]),
    ("unnest", [(pair[0], (pair[1][0], random("c", 2)))]), ("swap", [(random("l", 3), random("r", 5))]),
    ("empty", []), ("swap", [random("l", 3)]),
])


@I.ir_module
class Branches:
    @R.function
    def choose(flag: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
        if flag:
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        return y

    @R.function
    def nested(x: R.Tensor((), "int64"), y: R.Tensor((), "int64")):
        if R.less(x, y):
            if R.equal(x, R.const(0, "int64")):
                r = R.const(0, "int64")
            else:
                r = R.subtract(y, x)
        else:
            if R.greater(x, R.const(100, "int64")):
                r = R.const(100, "int64")
            else:
                r = R.add(y, x)
        return r

    @R.function
    def pairs(flag: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if flag:
            t = (x, R.add(x, x))
        else:
            t = (R.negative(x), x)
        return t[1]


numbers = [(0, 5), (3, 5), (500, 5), (7, 5), (-4, -3)]
program("branches", Branches, [
    ("choose", [np.array(True), random("x", 4)]), ("choose", [np.array(False), random("x", 4)]),
    ("choose", [random("f", 2, dtype="bool"), random("x", 4)]),
    *[("nested", [np.array(a), np.array(b)]) for a, b in numbers],
    *[("pairs", [np.array(b), random("p", 2)]) for b in (True, False)],
])


@I.ir_module
class Loops:
    """Loops as recursion: a counter and a state, and two functions that call each other."""

    @R.function
    def power(n: R.Tensor((), "int32"), x: R.Tensor((2, 2), "float32"), y: R.Tensor((2, 2), "float32")
              ) -> R.Tensor((2, 2), "float32"):
        if R.greater(n, R.const(0, "int32")):
            r = Loops.power(R.subtract(n, R.const(1, "int32")), x, R.matmul(y, x))
        else:
            r = y
        return r

    @R.function
    def collatz(n: R.Tensor((), "int64"), steps: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        if R.equal(n, R.const(1, "int64")):
            r = steps
        else:
            half = R.floor_divide(n, R.const(2, "int64"))
            if R.equal(R.multiply(half, R.const(2, "int64")), n):
                m = half
            else:
                m = R.add(R.multiply(n, R.const(3, "int64")), R.const(1, "int64"))
            r = Loops.collatz(m, R.add(steps, R.const(1, "int64")))
        return r

    @R.function
    def even(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        if R.equal(n, R.const(0, "int64")):
            r = R.const(True, "bool")
        else:
            r = Loops.odd(R.subtract(n, R.const(1, "int64")))
        return r

    @R.function
    def odd(n: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
        if R.equal(n, R.const(0, "int64")):
            r = R.const(False, "bool")
        else:
            r = Loops.even(R.subtract(n, R.const(1, "int64")))
        return r


matrix = [random("m", 2, 2), np.eye(2, dtype="float32")]
program("loops", Loops, [
    *[("power", [np.array(n, "int32"), *matrix]) for n in (0, 1, 9)],
    *[("collatz", [np.array(n), np.array(0)]) for n in (1, 6, 27)],
    *[("even", [np.array(n)]) for n in (0, 7, 100)],
])


@I.ir_module
class Closures:
    """Local functions: they capture values, are returned, passed, and stored in tuples."""

    @R.function
    def adder(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        @R.function
        def inner(z: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            return R.add(R.multiply(x, z), y)

        return Closures.minus(inner(y), inner(x))

    @R.function
    def minus(x: R.Any, y: R.Any):
        n = T.int64()
        u = R.match_cast(x, R.Tensor((2, n), "float32"))
        v = R.match_cast(y, R.Tensor((2, n), "float32"))
        return R.subtract(u, v)

    @R.function
    def apply(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")), x: R.Tensor((2,), "float32")
              ) -> R.Tensor((2,), "float32"):
        return f(f(x))

    @R.function
    def lax(f: R.Any, x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.invoke_pure_closure(f, (x,), ty_args=R.Tensor((2,), "float32"))
        return R.invoke_pure_closure(f, (y,), ty_args=R.Tensor((2,), "float32"))

    @R.function
    def double(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, x)

    @R.function
    def applied(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return Closures.apply(Closures.double, x)

    @R.function
    def chosen(flag: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function
        def twice(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(z, x)

        @R.function
        def squared(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.multiply(z, z)

        if flag:
            y = Closures.lax(twice, x)
        else:
            y = Closures.lax(squared, x)
        return y

    @R.function
    def make(x: R.Tensor((2,), "float32")) -> R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")):
        @R.function
        def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(z, x)

        return inner

    @R.function
    def made(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        f = Closures.make(x)
        g = Closures.make(y)
        return (f(y), g(f(x)))

    @R.function
    def sum_to(n: R.Tensor((), "int32"), step: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        @R.function
        def loop(i: R.Tensor((), "int32"), s: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            if R.less(i, n):
                r = loop(R.add(i, step), R.add(s, i))
            else:
                r = s
            return r

        return loop(R.const(0, "int32"), R.const(0, "int32"))


two = [random("x", 2), random("y", 2)]
program("closures", lifted(Closures), [
    ("adder", [random("x", 2, 3), random("y", 2, 3)]), *[("chosen", [np.array(b), two[0]]) for b in (True, False)],
    ("make", two[:1]), ("apply", two), ("applied", two[:1]), ("lax", two), ("made", two),
    ("sum_to", [np.array(20, "int32"), np.array(3, "int32")]),
])


@I.ir_module
class Several:
    """Public functions that share a private one, and kernels that are called as they are."""

    @T.prim_func(private=True)
    def rank(x: T.handle, out: T.handle):
        n = T.int64()
        a = T.match_buffer(x, (n,), "float32")
        b = T.match_buffer(out, (n,), "int32")
        for i in range(n):
            b[i] = T.Cast("int32", a[i] * T.float32(10))

    @R.function(private=True)
    def shared(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y: R.Tensor((n,), "float32") = R.nn.relu(x)
        return y

    @R.function
    def first(x: R.Tensor(("n",), "float32")):
        return R.add(Several.shared(x), R.const(1.0, "float32"))

    @R.function
    def second(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_tir(Several.rank, (Several.shared(x),), out_ty=R.Tensor((n,), "int32"))
        return (y, Several.first(x))

    @R.function
    def third(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("m", "n"), "float32")):
        return R.matmul(x, y)


program("several", Several, [
    *[("first", [random("s", n)]) for n in (1, 17)], *[("second", [random("s", n)]) for n in (1, 17)],
    ("third", [random("s", 3, 4), random("s", 4, 3)]), ("third", [random("s", 3, 4), random("s", 3, 4)]),
])
