"""Makes random nodes of quantised operators. Scales are powers of two: results are rounded alike everywhere."""
import ml_dtypes
import numpy as np

from builder import SIZES, Skip, elem
from operators import axis_of, maker

BYTES = [np.int8, np.uint8]


def codes(b):
    """The types to which floats are quantised."""
    more = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz]
    return BYTES + more * (b.opset >= 19) + [np.int16, np.uint16, ml_dtypes.int4, ml_dtypes.uint4] * (b.opset >= 21)


def zero(b, dtype, shape):
    """A zero point."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f" or dtype.name.startswith("float8"):
        return b.constant(np.zeros(shape, dtype))
    return b.constant(np.array(b.random(np.int64, shape, 0 if dtype.name[0] == "u" else -3, 3)).astype(dtype))


def scale(b, shape=()):
    return b.constant(np.array(2.0 ** b.random(np.int64, shape, -4, 1)).astype(np.float32))


def parameters(b, x, dtype):
    """A scale and a zero point for all elements, for an axis, or for blocks."""
    attrs, shape = {}, ()
    if x.rank > 0 and 0 not in x.shape and not b.root.dynamic and b.opset >= 13 and b.rng.random() < 0.5:
        a = attrs["axis"] = axis_of(b, x.rank)
        shape = (x.shape[a],)
        if b.opset >= 21 and b.rng.random() < 0.4:
            attrs["block_size"] = n = b.rng.choice([2, 3])
            shape = list(x.shape)
            shape[a] = -(-shape[a] // n)
    return scale(b, shape), zero(b, dtype, shape), attrs


@maker("QuantizeLinear", "DequantizeLinear")
def quantize(b, op):
    dtype = b.rng.choice(codes(b))
    if np.dtype(dtype) in (np.int8, np.uint8, np.int16, np.uint16) and op[0] == "D":
        x = b.pick([dtype])
        s, z, attrs = parameters(b, x, dtype)
        return b.add(op, [x, s] + [z][:b.rng.choice([1, 1, 0])], exact=True, **attrs)
    x = b.pick(exact=True)
    s, z, attrs = parameters(b, x, dtype)
    if np.dtype(dtype) in (np.int8, np.uint8, np.int16, np.uint16):
        return b.add(op, [x, s, z], exact=True, **attrs)
    q = dict(attrs)
    if np.dtype(dtype).name.startswith("float8") and b.rng.random() < 0.4:
        q["saturate"] = 0
    return b.chain([("QuantizeLinear", [x, s, z], q), ("DequantizeLinear", [None, s, z], attrs)])


@maker("DynamicQuantizeLinear")
def dynamic_quantize(b, op):
    x = b.pick(exact=True)
    if x.array.size == 0 or SIZES["n"][0] in x.shape:
        raise Skip  # the range of nothing is not defined
    return b.add(op, [x], 3)


@maker("MatMulInteger", "QLinearMatMul")
def quantised_matmul(b, op):
    x = b.fresh(b.rng.choice(BYTES), b.shape(b.rng.choice([2, 2, 3])))
    if x.shape[-1] in (0, SIZES["n"][0]):
        raise Skip  # onnxruntime does not set sums of nothing
    y = b.fresh(b.rng.choice(BYTES), (x.shape[-1], b.rng.choice([1, 4, 5])))
    if op[0] == "M":
        zeros = [zero(b, x.dtype, ()), zero(b, y.dtype, b.rng.choice([(), (y.shape[1],)]))]
        return b.add(op, [x, y] + zeros[:b.rng.randrange(3)])
    per = b.rng.choice([(), (y.shape[1],)])
    out = zero(b, x.dtype, ())
    return b.add(op, [x, scale(b), zero(b, x.dtype, ()), y, scale(b, per), zero(b, y.dtype, per), scale(b), out])


@maker("ConvInteger", "QLinearConv")
def quantised_conv(b, op):
    groups, channels, filters = b.rng.choice([(1, 3, 4), (2, 2, 3), (1, 1, 1)])
    d = b.rng.choice([1, 2])
    x = b.fresh(np.uint8, (b.rng.choice([1, 2]), groups * channels) + b.shape(d, 6))
    w = b.fresh(np.uint8 if op[0] == "C" else b.rng.choice(BYTES),
                (groups * filters, channels) + (b.rng.choice([1, 2, 3]),) * d)
    attrs = {"group": groups, "strides": b.rng.choice([None, [2] * d]), "pads": b.rng.choice([None, [1] * 2 * d])}
    if op[0] == "C":
        return b.add(op, [x, w] + [zero(b, x.dtype, ()), zero(b, w.dtype, ())][:b.rng.randrange(3)], **attrs)
    per = b.rng.choice([(), (groups * filters,)])
    zeros = b.constant(np.zeros(per, w.dtype)) if per else zero(b, w.dtype, ())
    bias = [b.fresh(np.int32, (groups * filters,))] if b.rng.random() < 0.5 else []
    return b.add(op, [x, scale(b), zero(b, x.dtype, ()), w, scale(b, per), zeros, scale(b), zero(b, np.uint8, ())]
                 + bias, **attrs)


@maker("BitCast")
def bit_cast(b, op):
    x = b.pick([np.float32, np.int32, np.int64, np.float64, np.int8, np.uint16], exact=True)
    to = b.rng.choice([d for d in (np.float32, np.int32, np.uint32, np.int64, np.uint64, np.float64, np.int8, np.uint8,
                                   np.int16, np.uint16) if np.dtype(d).itemsize == x.dtype.itemsize])
    return b.add(op, [x], exact=True, to=int(elem(to)))
