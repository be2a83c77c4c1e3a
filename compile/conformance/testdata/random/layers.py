"""Makes random nodes of the operators of neural networks, and of control flow."""
import numpy as np
import onnx
from onnx import helper

from builder import SIZES, Builder, Skip, info
from operators import ALL, F32, NUM, axis_of, maker, makers


@maker("Pad")
def pad(b, op):
    x = b.pick(F32 if b.opset < 11 else NUM, range(1, 5))
    mode = b.rng.choice([None, "constant", "reflect", "edge"] + ["wrap"] * (b.opset >= 19))
    if mode not in (None, "constant") and (0 in x.shape or b.root.dynamic and SIZES["n"][0] in x.shape):
        raise Skip  # there is nothing to pad with
    most = [min(n - 1, 1 if b.root.dynamic else 2) if mode == "reflect" else 2 for n in x.shape]
    pads = [b.rng.randint(0, n) for n in most + most]
    if mode in (None, "constant") and b.rng.random() < 0.3 and all(n >= 3 for n in x.shape):
        pads[0] = -1
    if b.opset < 11:
        return b.add(op, [x], exact=True, mode=mode, pads=pads, value=b.rng.choice([None, 1.5]))
    operands = [x, b.constant(np.array(pads, np.int64))]
    if b.rng.random() < 0.5:
        operands.append(b.constant(np.array(2, x.dtype)))
    return b.add(op, operands, exact=True, mode=mode)


@maker("Conv")
def conv(b, op):
    d = b.rng.choice([1, 2, 2, 2, 3])
    g, cin, cout = b.rng.choice([(1, 3, 4), (1, 1, 2), (2, 2, 3), (3, 1, 1), (1, 4, 1)])
    x = b.pick(F32, d + 2, lambda v: v.shape[1] == g * cin) if b.rng.random() < 0.3 else \
        b.fresh(np.float32, (b.rng.choice([1, 2]), g * cin) + b.shape(d, 8), -1, 1)
    k = [b.rng.choice([1, 2, 3]) for _ in range(d)]
    w = b.fresh(np.float32, (g * cout, cin, *k), -1, 1)
    bias = [b.fresh(np.float32, (g * cout,))] if b.rng.random() < 0.5 else []
    return b.add(op, [x, w] + bias, group=g, kernel_shape=b.rng.choice([None, k]), **window(b, d))


def window(b, d, dilate=True):
    attrs = {"strides": [b.rng.choice([1, 2, 3]) for _ in range(d)] if b.rng.random() < 0.6 else None}
    if dilate and b.rng.random() < 0.4:
        attrs["dilations"] = [b.rng.choice([1, 2]) for _ in range(d)]
    if b.rng.random() < 0.3:
        attrs["auto_pad"] = b.rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        if attrs["auto_pad"] != "VALID":
            attrs.pop("dilations", None)
    elif b.rng.random() < 0.6:
        attrs["pads"] = [b.rng.choice([0, 1]) for _ in range(2 * d)]
    return attrs


@maker("ConvTranspose")
def conv_transpose(b, op):
    d = b.rng.choice([1, 2, 2])
    g, cin, cout = b.rng.choice([(1, 3, 4), (1, 1, 2), (2, 2, 3)])
    x = b.fresh(np.float32, (b.rng.choice([1, 2]), g * cin) + b.shape(d, 6), -1, 1)
    k = [b.rng.choice([1, 2, 3]) for _ in range(d)]
    w = b.fresh(np.float32, (g * cin, cout, *k), -1, 1)
    s = [b.rng.choice([1, 2]) for _ in range(d)]
    return b.add(op, [x, w], group=g, strides=s, pads=b.rng.choice([None, [b.rng.choice([0, 1])] * 2 * d]),
                 output_padding=b.rng.choice([None, [n - 1 for n in s]]))


@maker("MaxPool", "AveragePool", "LpPool")
def pool(b, op):
    d = b.rng.choice([1, 2, 2, 3])
    x = b.fresh(np.float32, (b.rng.choice([1, 2]), b.rng.choice([1, 3])) + b.shape(d, 8))
    attrs = window(b, d, b.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op])
    k = [b.rng.choice([2, 3]) for _ in range(d)]
    if b.opset >= 10 and op != "LpPool":
        attrs["ceil_mode"] = b.rng.choice([None, 1])
    dilations, pads = attrs.get("dilations", [1] * d), attrs.get("pads", [0] * 2 * d)
    smallest = [min(s) if n == s[0] and b.root.dynamic else n for n in x.shape[2:]
                for s in [next((s for s in SIZES.values() if s[0] == n), (n,))]]
    if any(n + pads[i] + pads[d + i] <= (k[i] - 1) * dilations[i] for i, n in enumerate(smallest)):
        raise Skip  # a window is greater than the data
    if op == "AveragePool":
        attrs["count_include_pad"] = b.rng.choice([None, 1])
    if op == "LpPool":
        attrs["p"] = b.rng.choice([None, 1, 3])
    outs = 2 if op == "MaxPool" and b.opset >= 8 and b.rng.random() < 0.3 else 1
    return b.add(op, [x], outs, exact=op == "MaxPool", kernel_shape=k, **attrs)


@maker("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(b, op):
    return b.add(op, [b.pick(F32, range(3, 5))])


@maker("BatchNormalization")
def batch_norm(b, op):
    x = b.pick(F32, range(2, 5))
    c = x.shape[1]
    return b.add(op, [x] + [b.fresh(np.float32, (c,)) for _ in range(3)] + [b.fresh(np.float32, (c,), 1, 3)],
                 epsilon=b.rng.choice([None, 0.1]))


@maker("InstanceNormalization")
def instance_norm(b, op):
    x = b.pick(F32, range(3, 5), lambda v: v.shape[1] < 7)  # a constant number of channels
    return b.add(op, [x] + [b.fresh(np.float32, (x.shape[1],)) for _ in range(2)], epsilon=b.rng.choice([0.5, 0.1]))


@maker("LayerNormalization", "RMSNormalization")
def layer_norm(b, op):
    x = b.pick(F32, range(1, 5))
    a = axis_of(b, x.rank)
    s = x.shape[a:]
    more = [b.fresh(np.float32, s) for _ in range(1 if op[0] == "R" else b.rng.choice([1, 2]))]
    return b.add(op, [x] + more, axis=a, epsilon=0.1)


@maker("GroupNormalization")
def group_norm(b, op):
    x = b.fresh(np.float32, (2, 4) + b.shape(2))
    n = 2 if b.opset < 21 else 4
    return b.add(op, [x] + [b.fresh(np.float32, (n,)) for _ in range(2)], num_groups=2, epsilon=0.1)


@maker("LRN")
def lrn(b, op):
    return b.add(op, [b.pick(F32, 4)], size=b.rng.choice([1, 3, 5]), alpha=0.1)


@maker("LpNormalization", "MeanVarianceNormalization")
def normalization(b, op):
    if op[0] == "L":
        x = b.pick(F32, range(1, 4))
        return b.add(op, [x], axis=axis_of(b, x.rank), p=b.rng.choice([1, 2]))
    return b.add(op, [b.pick(F32, 4)])


@maker("DepthToSpace", "SpaceToDepth")
def blocks(b, op):
    x = b.fresh(np.float32, (1, 4, 2, 4) if op[0] == "D" else (2, 3, 4, 6))
    mode = b.rng.choice([None, "CRD"]) if op[0] == "D" and b.opset >= 11 else None
    return b.add(op, [x], exact=True, blocksize=2, mode=mode)


@maker("Resize")
def resize(b, op):
    if b.opset >= 13 and b.rng.random() < 0.3:
        return resize_more(b, op)
    sizes = b.rng.choice([(4, 6), (2, 6), (6,)])
    if b.root.dynamic and b.rng.random() < 0.7:
        sizes = sizes[:-1] + (SIZES["m"][0],)
    x = b.fresh(np.float32, (b.shape(1)[0] or 1, 2) + sizes)
    scale = [1.0, 1.0] + [b.rng.choice([0.5, 2.0, 1.5, 3.0]) for _ in x.shape[2:]]
    mode = b.rng.choice(["nearest", "linear"] + ["cubic"] * (len(x.shape) == 4 and b.opset >= 11))
    s = np.array(scale, np.float32)
    if b.opset == 10:
        return b.add(op, [x, b.constant(s)], mode=mode)
    place = b.rng.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    empty = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
    attrs = {"mode": mode, "coordinate_transformation_mode": place,
             "nearest_mode": b.rng.choice(["floor", "ceil", "round_prefer_floor"]) if mode == "nearest" else None}
    if b.rng.random() < 0.3:
        sizes = np.array([x.shape[0], 2] + [b.rng.choice([2, 5, 8]) for _ in x.shape[2:]], np.int64)
        scales = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
        if b.root.dynamic and any(s[0] in x.shape[:1] for s in SIZES.values()):
            raise Skip  # the batch has another size in the second data set
        if b.rng.random() < 0.4:  # those of another tensor
            to, = b.add("Shape", [b.fresh(np.float32, x.shape[:2] + b.shape(len(x.shape) - 2))])
            if 0 in to.array or b.root.dynamic and SIZES["n"][0] in to.array:
                raise Skip
            return b.add(op, [x, empty, scales, to], **attrs)
        return b.add(op, [x, empty, scales, b.constant(sizes)], **attrs)
    return b.add(op, [x, empty, b.constant(s)], **attrs)


def resize_more(b, op):
    """A resize with the attributes of newer operator sets."""
    x = b.fresh(np.float32, (2, 3, 5, 4))
    attrs = {"mode": b.rng.choice(["linear", "cubic"]), "exclude_outside": b.rng.choice([None, 1]),
             "cubic_coeff_a": b.rng.choice([None, -0.5])}
    if attrs["mode"] == "linear":
        attrs.pop("exclude_outside")
    if b.opset < 18:
        scales = b.constant(np.array([1, 1] + [b.rng.choice([0.5, 1.5, 2]) for _ in range(2)], np.float32))
        return b.add(op, [x, b.constant(np.zeros(0, np.float32)), scales], **attrs)
    attrs["axes"] = [2, 3]
    if b.rng.random() < 0.5:
        attrs["antialias"] = 1
        attrs.pop("exclude_outside", None)
    if b.rng.random() < 0.3:
        attrs["keep_aspect_ratio_policy"] = b.rng.choice(["stretch", "not_larger", "not_smaller"])
    sizes = b.constant(np.array([b.rng.choice([2, 3, 7]) for _ in range(2)], np.int64))
    return b.add(op, [x, None, None, sizes], **attrs)


@maker("Upsample")
def upsample(b, op):
    x = b.fresh(np.float32, (1, 2, 3, 4))
    scales = [1.0, 1.0, 2.0, 3.0]
    if b.opset < 9:
        return b.add(op, [x], scales=scales, mode=b.rng.choice(["nearest", "linear"]))
    return b.add(op, [x, b.constant(np.array(scales, np.float32))], mode=b.rng.choice(["nearest", "linear"]))


@maker("Constant")
def constant(b, op):
    kinds = ["value"] + ["value_int", "value_ints", "value_float", "value_floats"] * (b.opset >= 12)
    kind = b.rng.choice(kinds)
    number = b.rng.randint(-3, 3)
    value = {"value": helper.make_tensor("value", onnx.TensorProto.INT32, [2], [number, 1]), "value_int": number,
             "value_ints": [number, 2], "value_float": number / 2, "value_floats": [number / 2, 1.0]}[kind]
    if b.opset >= 11 and b.rng.random() < 0.2:
        value = helper.make_sparse_tensor(helper.make_tensor("values", onnx.TensorProto.FLOAT, [2], [1.5, -2.0]),
                                          helper.make_tensor("indices", onnx.TensorProto.INT64, [2], [1, 4]), [2, 3])
        return b.chain([("Constant", [], {"sparse_value": value}), ("Neg", [None], {})])
    return b.add(op, [], exact=True, **{kind: value})


@maker("Dropout")
def dropout(b, op):
    return b.add(op, [b.pick(F32)], b.rng.choice([1, 2]) if b.opset >= 12 else 1)


@maker("OneHot")
def one_hot(b, op):
    x = b.fresh(np.int64, b.shape(b.rng.choice([0, 1, 2])), -4, 3)
    t = b.rng.choice([np.float32, np.int64])
    return b.add(op, [x, b.constant(np.array(4, np.int64)), b.constant(np.array([1, 5], t))], exact=True,
                 axis=b.rng.choice([None, 0, -1]))


@maker("Trilu")
def trilu(b, op):
    x = b.pick([np.float32, np.int64], range(2, 5))
    k = [b.constant(np.array(b.rng.randint(-3, 3), np.int64))] if b.rng.random() < 0.6 else []
    return b.add(op, [x] + k, exact=True, upper=b.rng.choice([None, 0]))


@maker("EyeLike")
def eye(b, op):
    x = b.pick([np.float32, np.int64], 2)
    return b.add(op, [x], k=b.rng.choice([None, 1, -1]), dtype=b.rng.choice([None, 1, 7]))


@maker("Range")
def span(b, op):
    t = b.rng.choice([np.int64, np.int32, np.float32])
    start, step = b.rng.randint(-3, 3), b.rng.choice([1, 2, -1])
    limit = start + step * b.rng.randint(0, 6)
    return b.add(op, [b.constant(np.array(v, t)) for v in (start, limit, step)], exact=True)


@maker("ConstantOfShape")
def filled(b, op):
    s, = b.add("Shape", [b.pick(ALL)])
    value = helper.make_tensor("value", *b.rng.choice([(onnx.TensorProto.FLOAT, [1], [0.5]),
                                                       (onnx.TensorProto.INT64, [1], [3])]))
    return b.add(op, [s], exact=True, value=b.rng.choice([None, value]))


@maker("TopK")
def top_k(b, op):
    x = b.pick(F32 if b.opset < 11 else [np.float32, np.int64], range(1, 4), lambda v: v.array.size > 1, exact=True)
    a = axis_of(b, x.rank)
    k = b.rng.randint(1, max(1, min(x.shape[a], 4)))
    attrs = {"largest": b.rng.choice([None, 0])} if b.opset >= 11 else {}
    if b.opset < 10:
        return b.add(op, [x], 2, exact=True, axis=a, k=k)
    return b.add(op, [x, b.constant(np.array([k], np.int64))], 2, exact=True, axis=a, **attrs)


@maker("NonZero")
def non_zero(b, op):
    return b.add(op, [b.pick([np.float32, np.int64, np.bool_], range(1, 4), exact=True)])


@maker("Compress")
def compress(b, op):
    x = b.pick([np.float32, np.int64], range(1, 4), lambda v: v.array.size > 0)
    a = axis_of(b, x.rank)
    return b.add(op, [x, b.fresh(np.bool_, (x.shape[a],))], exact=True, axis=a)


@maker("Unique")
def unique(b, op):
    return b.add(op, [b.pick([np.float32, np.int64], range(1, 2), lambda v: v.array.size > 0, exact=True)],
                 b.rng.choice([1, 4]), exact=True, sorted=b.rng.choice([None, 0, 1]))


@maker("ReverseSequence")
def reverse_sequence(b, op):
    x = b.fresh(np.float32, (4, 3, 2))
    return b.add(op, [x, b.fresh(np.int64, (3,), 1, 4)], exact=True, time_axis=0, batch_axis=1)


@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(b, op):
    s = b.shape(b.rng.choice([0, 1, 2]), 4)
    if 0 in s or SIZES["n"][0] in s:
        raise Skip  # the mean of nothing is not defined
    x = b.fresh(np.float32, (3, 5) + s)
    w = [b.fresh(np.float32, (5,), 1, 2)] if b.rng.random() < 0.5 else []
    return b.add(op, [x, b.fresh(np.int64, (3,) + s, 0, 4)] + w, reduction=b.rng.choice([None, "none", "sum", "mean"]),
                 ignore_index=b.rng.choice([None, 2]))


def fill(inner, n):
    """Adds nodes to a body."""
    names = [k for k in makers if k not in ("Loop", "Scan") or inner.depth < 2]
    for _ in range(20):
        if n == 0:
            return
        op = inner.rng.choice(names)
        try:
            grow(inner, op)
            n -= 1
        except Skip:
            pass


def grow(b, op):
    """Adds a node of an operator."""
    state = len(b.nodes), len(b.initializers), len(b.values), len(b.root.inputs), len(b.root.values)
    f = makers[op]
    try:
        since = onnx.defs.get_schema(op, b.opset, "").since_version
        if onnx.defs.get_schema(op, b.opset, "").deprecated or since > b.opset:
            raise Skip
        return f(b, op) if f.__code__.co_argcount == 2 and f.__defaults__ is None else f(b)
    except onnx.defs.SchemaError:
        raise Skip
    except Skip:
        del b.nodes[state[0]:], b.initializers[state[1]:], b.values[state[2]:]
        if b is b.root:
            del b.inputs[state[3]:]
        raise


@maker("If")
def conditional(b, op):
    if b.depth > 1:
        raise Skip
    cond = b.fresh(np.bool_, ()) if b.rng.random() < 0.7 else b.pick([np.bool_], 0)
    bodies = []
    like = b.pick(ALL)
    for name in ("then", "else"):
        inner = Builder(b.rng, b.opset, outer=b)
        fill(inner, b.rng.choice([0, 1, 3]))
        found = [v for v in inner.values if v.dtype == like.dtype and v.rank == like.rank]
        out, = inner.add("Identity", [b.rng.choice(found or [like])], exact=True)
        bodies.append(inner.graph(name, [], [info(out)]))
    return b.add(op, [cond], exact=True, then_branch=bodies[0], else_branch=bodies[1])


@maker("Loop")
def loop(b, op):
    if b.depth > 1:
        raise Skip
    start = [b.pick(ALL) for _ in range(b.rng.choice([0, 1, 1, 2]))]
    inner = Builder(b.rng, b.opset, outer=b)
    i = inner.keep(inner.name("i"), np.array(0, np.int64), True)
    cond = inner.keep(inner.name("cond"), np.array(True), True)
    params = [inner.keep(inner.name("p"), v.array, v.exact) for v in start]
    fill(inner, b.rng.choice([1, 2, 4]))
    results = []
    for p in params:
        found = [v for v in inner.values if v.dtype == p.dtype and v.rank == p.rank and v is not p and
                 (v.shape == p.shape or b.rng.random() < 0.4)]
        results += inner.add("Identity", [b.rng.choice(found or [p])])
    stops = b.rng.random() < 0.3  # without a condition before the loop, that of the body has no effect
    if stops:
        go, = inner.add("Less", [i, inner.constant(np.array(b.rng.randint(0, 2), np.int64))])
    else:
        go, = inner.add("Identity", [cond])
    scans = []
    if not stops and (b.rng.random() < 0.5 or not results):
        scans = inner.add("Identity", [b.rng.choice(inner.values)])
    if not results + scans:
        raise Skip
    g = inner.graph("body", [info(v, v.shape if v in (i, cond) else None) for v in [i, cond] + params],
                    [info(go, ())] + [info(v) for v in results + scans])
    # the shape of what no iteration collects is not defined
    trips = b.fresh(np.int64, (), 1 if scans else 0, 3)
    going = b.fresh(np.bool_, ()) if stops or not scans and b.rng.random() < 0.5 else None
    return b.add(op, [trips, going] + start, len(results + scans), body=g)


@maker("Scan")
def scan(b, op):
    if b.depth > 1 or b.opset < 9:
        raise Skip
    xs = b.pick(F32, range(1, 4), lambda v: 0 < v.array.size)
    a = b.rng.randrange(xs.rank)
    start = [b.pick(F32) for _ in range(b.rng.choice([0, 1]))]
    inner = Builder(b.rng, b.opset, outer=b)
    params = [inner.keep(inner.name("p"), v.array, v.exact) for v in start]
    row = inner.keep(inner.name("row"), np.take(xs.array, 0, a), xs.exact)
    fill(inner, b.rng.choice([1, 3]))
    results = []
    for p in params:
        found = [v for v in inner.values if v.dtype == p.dtype and v.shape == p.shape]
        results += inner.add("Identity", [b.rng.choice(found)])
    scans = inner.add("Identity", [b.rng.choice(inner.values)])
    g = inner.graph("body", [info(v, v.shape) for v in params + [row]], [info(v, v.shape) for v in results + scans])
    return b.add(op, start + [xs], len(results + scans), body=g, num_scan_inputs=1, scan_input_axes=[a],
                 scan_input_directions=b.rng.choice([None, [1]]), scan_output_directions=b.rng.choice([None, [1]]),
                 scan_output_axes=b.rng.choice([None, [0], [-1]]))
