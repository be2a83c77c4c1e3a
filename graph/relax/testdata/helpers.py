"""What modules of Relax are made with, in the versions 0.17, 0.25 and 0.27 of TVM."""
import zlib

import numpy as np
import tvm
from tvm import relax, te

NEW = hasattr(tvm, "tirx")
LAST = tvm.__version__ >= "0.27"
OLD = tvm.__version__ < "0.18"
tir = tvm.tirx if NEW else tvm.tir
TensorType = relax.TensorType if LAST else relax.TensorStructInfo
ShapeType = relax.ShapeType if LAST else relax.ShapeStructInfo
TupleType = tvm.ir.TupleType if LAST else relax.TupleStructInfo
R = relax.op
nn = R.nn
CASES = {}
REFERENCES = {}  # what modules compute that TVM cannot execute


class In:
    """A parameter: sizes are numbers or names, and values are random numbers that make(rng, shape) may replace."""

    def __init__(self, *shape, dtype="float32", make=None, low=-2.0, high=2.0):
        self.shape, self.dtype, self.make, self.low, self.high = shape, dtype, make, low, high

    def value(self, rng, sizes):
        shape = [sizes.get(d, d) for d in self.shape]
        if self.make:
            return np.asarray(self.make(rng, shape)).astype(self.dtype)
        if self.dtype == "bool":
            return rng.integers(0, 2, shape).astype("bool")
        if "int" in self.dtype:
            return rng.integers(int(self.low), int(self.high) + 1, shape).astype(self.dtype)
        return rng.uniform(self.low, self.high, shape).astype(self.dtype)


def ints(*shape, low=0, high=2, dtype="int64"):
    return In(*shape, dtype=dtype, low=low, high=high)


def const(values, dtype="float32"):
    return relax.const(np.asarray(values, dtype), dtype)


def weight(name, *shape, scale=0.5, dtype="float32"):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return relax.const((rng.standard_normal(shape) * scale).astype(dtype), dtype)


def prim(v, dtype="int64"):
    if LAST:
        return tir.IntImm(dtype, v) if "int" in dtype else tir.FloatImm(dtype, v)
    return relax.PrimValue(tir.IntImm(dtype, v) if "int" in dtype else tir.FloatImm(dtype, v))


def add(name, build, *inputs, **sizes):
    """A module whose main has one block of dataflow with what build(bb, *params) returns."""
    CASES[name] = (build, inputs, sizes, True)


def module(name, build, *inputs, **sizes):
    """A module that build(bb, size, *inputs) makes as a whole."""
    CASES[name] = (build, inputs, sizes, False)
