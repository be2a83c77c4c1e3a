"""Makes random nodes of every operator."""
import numpy as np

from builder import ANY_FLOATS, FLOATS, INTS, Skip, elem

makers = {}
F32 = [np.float32]
NUM = [np.float32] * 8 + [np.float64, np.int32, np.int64] * 2 + [np.float16, np.int8, np.uint8, np.int16, np.uint16,
                                                                np.uint32, np.uint64]
ALL = NUM + [np.bool_] * 2


def maker(*names):
    def register(f):
        for n in names:
            makers[n] = f
        return f
    return register


def unary(names, exact=False, need=False, **kinds):
    for n in names.split():
        def make(b, n=n):
            attrs = {k: b.rng.choice(v) for k, v in kinds.items() if b.rng.random() < 0.7}
            return b.add(n, [b.pick(b.rng.choice([F32, ANY_FLOATS]), exact=need)], exact=exact, **attrs)
        makers[n] = make


unary("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Exp Log Sigmoid Sin Sinh Softplus Softsign Sqrt Tan Tanh "
      "Reciprocal HardSwish Mish")
unary("Relu", exact=True)
unary("Ceil Floor Round Sign", exact=True, need=True)
unary("IsNaN IsInf", need=True)
unary("Elu Celu", alpha=[0.5, 2.0])
unary("Selu", alpha=[1.5], gamma=[1.25])
unary("LeakyRelu", alpha=[0.1, -0.5])
unary("HardSigmoid", alpha=[0.25], beta=[0.75])
unary("ThresholdedRelu", need=True, alpha=[0.5, 2.0])
unary("Shrink", need=True, lambd=[0.25, 1.0], bias=[0.5])
unary("Gelu", approximate=["none", "tanh"])
unary("Swish", alpha=[0.5])


@maker("Abs", "Neg", "Identity")
def sign(b, op):
    return b.add(op, [b.pick(ALL if op[0] == "I" else NUM)], exact=True)


@maker("Add", "Sub", "Mul")
def arithmetic(b, op):
    x = b.pick(NUM)
    y = b.like(x)
    return b.add(op, b.rng.sample([x, y], 2), exact=True)


@maker("Div")
def div(b, op):
    x = b.pick(NUM)
    return b.add(op, [x, b.like(x, low=1, high=5)])


@maker("Mod")
def mod(b, op):
    x = b.pick(INTS if b.rng.random() < 0.7 else F32, exact=True)
    f = x.dtype.kind == "f" or b.rng.random() < 0.3
    return b.add(op, [x, b.like(x, low=1, high=5)], exact=True, fmod=1 if f else 0)


@maker("Pow")
def power(b, op):
    x = b.pick(NUM)
    y = b.fresh(b.rng.choice([x.dtype, np.float32, np.int64]), b.rng.choice([(), (1,), x.shape]), 0, 3)
    return b.add(op, [x, y])


@maker("Max", "Min", "Sum", "Mean")
def variadic(b, op):
    x = b.pick(NUM if op in ("Max", "Min") else FLOATS)
    operands = [x] + [b.like(x) for _ in range(b.rng.randrange(3))]
    if b.rng.random() < 0.1:
        operands *= 30
    return b.add(op, operands, exact=op != "Mean")


@maker("And", "Or", "Xor")
def logical(b, op):
    x = b.pick([np.bool_])
    return b.add(op, [x, b.like(x)])


@maker("Not")
def negation(b, op):
    return b.add(op, [b.pick([np.bool_])])


@maker("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
def comparison(b, op):
    x = b.pick(NUM + [np.bool_] * (op == "Equal"), exact=True)
    y = b.like(x)
    if not y.exact:
        raise Skip
    return b.add(op, [x, y])


@maker("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(b, op):
    x = b.pick(INTS)
    return b.add(op, [x, b.like(x)])


@maker("BitwiseNot")
def invert(b, op):
    return b.add(op, [b.pick(INTS)])


@maker("BitShift")
def shift(b, op):
    x = b.pick([np.uint8, np.uint32, np.uint64])
    return b.add(op, [x, b.like(x, low=0, high=3)], direction=b.rng.choice(["LEFT", "RIGHT"]))


@maker("Where")
def where(b, op):
    x = b.pick(ALL)
    return b.add(op, [b.fresh(np.bool_, b.rng.choice([x.shape, x.shape[1:], ()])), x, b.like(x)], exact=True)


@maker("PRelu")
def prelu(b, op):
    x = b.pick(FLOATS)
    return b.add(op, [x, b.fresh(x.dtype, b.rng.choice([x.shape, x.shape[-1:], (1,)]))])


@maker("Clip")
def clip(b, op):
    x = b.pick(F32 if b.opset < 12 else NUM)
    lo, hi = b.rng.choice([-2, 0, None]), b.rng.choice([1, 5, None])
    if x.dtype.kind == "u" and lo:
        lo = 0
    if b.opset < 11:
        return b.add(op, [x], exact=True, min=lo and float(lo), max=hi and float(hi))
    bound = [None if v is None else b.constant(np.array(v, x.dtype)) for v in (lo, hi)]
    return b.add(op, [x] + bound[:1 if bound[1] is None else 2], exact=True)


@maker("Cast")
def cast(b, op):
    x = b.pick(ALL + INTS, exact=True)
    to = b.rng.choice(ALL + INTS)
    if np.dtype(to).kind == "u" and x.array.size and x.array.min() < 0 and x.dtype.kind == "f":
        raise Skip  # not defined
    return b.add(op, [x], exact=True, to=int(elem(to)))


@maker("CastLike")
def cast_like(b, op):
    return b.add(op, [b.pick(F32 + [np.int32, np.bool_], exact=True), b.pick([np.float64, np.int64, np.float32])])


def axis_of(b, rank, below=False):
    n = rank + 1 if below else rank
    if n == 0:
        raise Skip
    a = b.rng.randrange(n)
    return a - rank if b.opset >= 11 and b.rng.random() < 0.3 and a < rank else a


@maker("Softmax", "LogSoftmax", "Hardmax")
def softmax(b, op):
    x = b.pick(FLOATS, exact=op == "Hardmax")
    return b.add(op, [x], axis=axis_of(b, x.rank) if b.rng.random() < 0.8 else None)


@maker("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
       "ReduceLogSumExp", "ReduceSumSquare")
def reduction(b, op):
    x = b.pick([np.float32] * 3 + [np.float64] + [np.int32, np.int64] * (op != "ReduceLogSumExp"))
    axes = b.rng.sample(range(x.rank), b.rng.randint(0, x.rank))
    axes = [a - x.rank if b.opset >= 18 and b.rng.random() < 0.3 else a for a in axes]
    keep = b.rng.choice([None, 0, 1])
    if op == "ReduceMean" and 0 in x.shape:
        raise Skip  # not defined
    exact = op in ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1")
    if b.opset >= (13 if op == "ReduceSum" else 18):
        operands = [x, b.constant(np.array(axes, np.int64))] if axes or b.rng.random() < 0.5 else [x]
        return b.add(op, operands, exact=exact, keepdims=keep, noop_with_empty_axes=b.rng.choice([None, 0, 1]))
    return b.add(op, [x], exact=exact, keepdims=keep, axes=axes or None)


@maker("ArgMax", "ArgMin")
def argument(b, op):
    x = b.pick([np.float32, np.int32, np.float64], exact=True)
    return b.add(op, [x], axis=axis_of(b, x.rank), keepdims=b.rng.choice([None, 0]),
                 select_last_index=b.rng.choice([None, 1]) if b.opset >= 12 else None)


@maker("MatMul")
def matmul(b, op):
    x = b.pick([np.float32, np.float32, np.float64, np.int32], range(1, 5))
    k = x.shape[-1]
    batch = tuple(n if b.rng.random() < 0.6 else 1 for n in x.shape[:-2])[b.rng.choice([0, 0, 1]):]
    n = b.rng.choice([1, 3, 5, 8])
    return b.add(op, [x, b.fresh(x.dtype, b.rng.choice([batch + (k, n), (k, n), (k,)]))], exact=True)


@maker("Gemm")
def gemm(b, op):
    x = b.pick(FLOATS, 2)
    ta, tb, n = b.rng.randrange(2), b.rng.randrange(2), b.rng.choice([1, 4, 6])
    m, k = x.shape[::-1] if ta else x.shape
    y = b.fresh(x.dtype, (n, k) if tb else (k, n))
    c = [b.fresh(x.dtype, b.rng.choice([(m, n), (n,), (1, n), (m, 1)]))]
    if b.opset >= 11 and b.rng.random() < 0.3:
        c = []
    return b.add(op, [x, y] + c, transA=ta, transB=tb, alpha=b.rng.choice([None, 0.5]), beta=b.rng.choice([None, 2.0]))


@maker("Einsum")
def einsum(b, op):
    x = b.pick(F32, 2)
    y = b.fresh(np.float32, (x.shape[1], 3))
    return b.add(op, b.rng.choice([[x, y]]), equation=b.rng.choice(["ij,jk->ik", "ij,jk->ki", "ij,jk", "ij,jk->"]))


@maker("Transpose")
def transpose(b, op):
    x = b.pick(ALL)
    perm = list(range(x.rank))
    b.rng.shuffle(perm)
    return b.add(op, [x], exact=True, perm=perm if b.rng.random() < 0.8 and perm else None)


@maker("Shape")
def shape(b, op):
    x = b.pick(ALL)
    if b.opset >= 15 and b.rng.random() < 0.5:
        return b.add(op, [x], start=b.rng.randint(-3, 3), end=b.rng.choice([None, -1, 1, 2, 9]))
    return b.add(op, [x])


@maker("Size")
def size(b, op):
    return b.add(op, [b.pick(ALL)])


@maker("Flatten")
def flatten(b, op):
    x = b.pick(F32 if b.opset < 9 else ALL)
    return b.add(op, [x], exact=True, axis=axis_of(b, x.rank, True) if b.rng.random() < 0.8 else None)


@maker("Reshape")
def reshape(b, op):
    x = b.pick(ALL)
    found = [v for v in b.visible() if v.array.size == x.array.size]
    if b.rng.random() < 0.4 and found:
        s, = b.add("Shape", [b.rng.choice(found)])
        return b.add(op, [x, s], exact=True)
    dims = list(x.shape)
    b.rng.shuffle(dims)
    if len(dims) > 1 and b.rng.random() < 0.6:
        k = b.rng.randrange(len(dims) - 1)
        dims[k:k + 2] = [dims[k] * dims[k + 1]]
    if b.rng.random() < 0.6 and dims and x.array.size:
        dims[b.rng.randrange(len(dims))] = -1
    if b.rng.random() < 0.3 and dims and dims[0] == x.shape[0]:
        dims[0] = 0
    return b.add(op, [x, b.constant(np.array(dims, np.int64))], exact=True)


@maker("Squeeze")
def squeeze(b, op):
    x = b.pick(ALL, want=lambda v: 1 in v.shape)
    axes = [k for k, n in enumerate(x.shape) if n == 1 and b.rng.random() < 0.7]
    if b.root.dynamic and not axes:
        raise Skip  # the number of dimensions has to be constant
    if b.opset >= 13:
        return b.add(op, [x] + ([b.constant(np.array(axes, np.int64))] if axes else []), exact=True)
    return b.add(op, [x], exact=True, axes=axes or None)


@maker("Unsqueeze")
def unsqueeze(b, op):
    x = b.pick(ALL, range(0, 4))
    axes = sorted(b.rng.sample(range(x.rank + 2), 2) if b.rng.random() < 0.4 else [b.rng.randrange(x.rank + 1)])
    if b.opset >= 13:
        return b.add(op, [x, b.constant(np.array(axes, np.int64))], exact=True)
    return b.add(op, [x], exact=True, axes=axes)


@maker("Concat")
def concat(b, op):
    x = b.pick(ALL, range(1, 5))
    a = axis_of(b, x.rank)
    more = []
    for _ in range(b.rng.randrange(3)):
        s = list(x.shape)
        s[a] = b.rng.choice([s[a], 1, 2, 0, 3])
        more.append(b.like(x, tuple(s)))
    both = more + [x]
    b.rng.shuffle(both)
    return b.add(op, both, exact=True, axis=a)


@maker("Split")
def split(b, op):
    x = b.pick(ALL, range(1, 5), lambda v: max(v.shape) >= 2)
    a = b.rng.choice([k for k, n in enumerate(x.shape) if n >= 2])
    n = x.shape[a]
    first = b.rng.randint(0 if b.opset >= 13 else 1, n - 1)
    parts = [first, n - first]
    if b.opset >= 18 and b.rng.random() < 0.4:
        k = b.rng.randint(2, min(n, 3))
        return b.add(op, [x], k, exact=True, axis=a, num_outputs=k)
    if b.opset >= 13:
        return b.add(op, [x, b.constant(np.array(parts, np.int64))], 2, exact=True, axis=a)
    return b.add(op, [x], 2, exact=True, axis=a, split=parts)


@maker("Slice")
def slicing(b, op):
    x = b.pick(ALL, range(1, 5))
    axes = b.rng.sample(range(x.rank), b.rng.randint(1, min(2, x.rank)))
    starts = [b.rng.choice([0, 1, 2, -1, -2, -100, 3]) for _ in axes]
    ends = [b.rng.choice([1, 2, 3, 100, -1, 1 << 40, -(1 << 40)]) for _ in axes]
    if b.opset < 10:
        return b.add(op, [x], exact=True, starts=starts, ends=ends, axes=axes)
    operands = [np.array(v, np.int64) for v in (starts, ends, axes)]
    if b.rng.random() < 0.6:
        operands.append(np.array([b.rng.choice([1, 2, -1, -2, 3]) for _ in axes], np.int64))
    return b.add(op, [x] + [b.constant(v) for v in operands], exact=True)


@maker("Expand")
def expand(b, op):
    x = b.pick(ALL, range(0, 4))
    to = [b.rng.choice([2, 3]) if n == 1 and b.rng.random() < 0.6 else b.rng.choice([n, n, 1]) for n in x.shape]
    to = b.rng.choice([[], [], [2], [1]]) + to
    if b.rng.random() < 0.3:
        s, = b.add("Shape", [b.pick(ALL, range(0, 4))])
        return b.add(op, [x, s], exact=True)
    return b.add(op, [x, b.constant(np.array(to, np.int64))], exact=True)


@maker("Tile")
def tile(b, op):
    x = b.pick(ALL, range(1, 4))
    return b.add(op, [x, b.constant(np.array([b.rng.choice([1, 1, 2, 3, 0]) for _ in x.shape], np.int64))], exact=True)


@maker("Gather")
def gather(b, op):
    x = b.pick(ALL, range(1, 5), lambda v: v.array.size > 0)
    a = axis_of(b, x.rank)
    n = x.shape[a]
    low = -n if b.opset >= 11 else 0
    index = b.fresh(b.rng.choice([np.int64, np.int32]), b.shape(b.rng.choice([0, 1, 2])), low, n - 1)
    return b.add(op, [x, index], exact=True, axis=a)


@maker("GatherElements")
def gather_elements(b, op):
    x = b.pick(ALL, range(1, 4), lambda v: v.array.size > 0)
    a = axis_of(b, x.rank)
    s = [b.rng.choice([n, 1]) for n in x.shape]
    s[a] = b.rng.choice([1, 2, 7])
    return b.add(op, [x, b.fresh(np.int64, tuple(s), -x.shape[a], x.shape[a] - 1)], exact=True, axis=a)


@maker("GatherND")
def gather_nd(b, op):
    x = b.pick(ALL, range(1, 5), lambda v: v.array.size > 0)
    k = b.rng.randint(1, x.rank)
    most = min(x.shape[:k])
    return b.add(op, [x, b.fresh(np.int64, b.shape(b.rng.choice([0, 1, 2])) + (k,), -most, most - 1)], exact=True)


@maker("ScatterElements", "Scatter")
def scatter_elements(b, op):
    x = b.pick(ALL, range(1, 4), lambda v: v.array.size > 0)
    a = axis_of(b, x.rank)
    s = list(x.shape)
    s[a] = b.rng.randint(1, s[a])
    g = np.random.default_rng(b.rng.randrange(1 << 32))
    places = np.arange(x.shape[a]).reshape([-1 if k == a % x.rank else 1 for k in range(x.rank)])
    index = g.permuted(np.broadcast_to(places, x.shape), axis=a)[tuple(slice(0, n) for n in s)]
    reduction = None
    if b.opset >= 16 and op != "Scatter":
        reduction = b.rng.choice([None, "add", "mul"] + ["max", "min"] * (b.opset >= 18))
        if x.dtype == np.bool_:
            reduction = None
    return b.add(op, [x, b.input(index.astype(np.int64).copy()), b.fresh(x.dtype, tuple(s))], exact=True,
                 axis=a, reduction=reduction)


@maker("ScatterND")
def scatter_nd(b, op):
    x = b.pick(ALL, range(1, 4), lambda v: v.array.size > 0)
    k = b.rng.randint(1, x.rank)
    n = b.rng.choice([1, 2]) if b.opset >= 16 and x.dtype != np.bool_ else 1
    reduction = b.rng.choice(["add", "mul"]) if n == 2 else None
    most = min(x.shape[:k])
    return b.add(op, [x, b.fresh(np.int64, (n, k), 0, most - 1), b.fresh(x.dtype, (n,) + x.shape[k:])], exact=True,
                 reduction=reduction)
