"""Makes random nodes of the operators on sequences: recurrent networks, attention and Fourier transforms."""
import numpy as np

from builder import SIZES, Skip
from operators import F32, axis_of, maker

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
ACTIVATIONS = ["Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "LeakyRelu"]


@maker("RNN", "GRU", "LSTM")
def recurrent(b, op):
    direction = b.rng.choice([None, "forward", "reverse", "bidirectional"])
    ways, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    steps, batch = b.shape(2, 4) if b.rng.random() < 0.6 else (3, 2)
    if steps in (0, SIZES["n"][0]):
        raise Skip  # results without a step are not defined
    size, hidden = b.rng.choice([1, 2, 4]), b.rng.choice([1, 3])
    x = b.fresh(np.float32, (steps, batch, size), -1, 1)
    operands = [x, b.fresh(np.float32, (ways, gates * hidden, size), -1, 1),
                b.fresh(np.float32, (ways, gates * hidden, hidden), -1, 1)]

    def optional(dtype, shape, low=-1, high=1):
        operands.append(b.fresh(dtype, shape, low, high) if b.rng.random() < 0.5 else None)
    optional(np.float32, (ways, 2 * gates * hidden))
    optional(np.int32, (batch,), 1, steps)
    if b.root.dynamic:
        operands[4] = None  # the lengths have to fit the second data set, too
    optional(np.float32, (ways, batch, hidden))
    if op == "LSTM":
        optional(np.float32, (ways, batch, hidden))
        optional(np.float32, (ways, 3 * hidden))
    attrs = {"direction": direction, "hidden_size": hidden}
    if op != "LSTM":  # onnxruntime does not limit the cell state where it is the argument of an activation
        attrs["clip"] = b.rng.choice([None, None, 0.5])
    if b.rng.random() < 0.4:
        attrs["activations"] = [b.rng.choice(ACTIVATIONS) for _ in range(ways * {"RNN": 1, "GRU": 2, "LSTM": 3}[op])]
    if op == "GRU":
        attrs["linear_before_reset"] = b.rng.choice([None, 1])
    if op == "LSTM":
        attrs["input_forget"] = b.rng.choice([None, 0, 1])
    while operands[-1] is None:
        operands.pop()
    return b.add(op, operands, b.rng.randint(1, 3 if op == "LSTM" else 2), **attrs)


@maker("Attention")
def attention(b, op):
    batch, steps, keys = b.rng.choice([1, 2]), b.rng.choice([1, 4]), b.rng.choice([1, 6])
    if b.root.dynamic and b.rng.random() < 0.6:
        batch, steps = b.shape(2)
    heads, kv_heads = b.rng.choice([(1, 1), (3, 3), (4, 2), (6, 1)])
    size, value_size = b.rng.choice([(8, 8), (4, 6), (2, 2)])
    attrs = {"is_causal": b.rng.choice([None, 1]), "softcap": b.rng.choice([None, None, 2.0]),
             "scale": b.rng.choice([None, 0.25])}
    if b.rng.random() < 0.4:  # heads in one dimension with their features
        attrs |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
        shapes = [(batch, steps, heads * size), (batch, keys, kv_heads * size), (batch, keys, kv_heads * value_size)]
    else:
        shapes = [(batch, heads, steps, size), (batch, kv_heads, keys, size), (batch, kv_heads, keys, value_size)]
    operands, outs, past = [b.fresh(np.float32, s, -2, 2) for s in shapes], 1, 0
    mask, caches = None, []
    if b.rng.random() < 0.4:
        past, outs = b.rng.choice([1, 3]), 3
        caches = [b.fresh(np.float32, (batch, kv_heads, past, n), -2, 2) for n in (size, value_size)]
    if b.rng.random() < 0.5:
        shape = b.rng.choice([(steps, keys + past), (batch, 1, steps, keys + past), (1, heads, steps, keys + past)])
        if b.rng.random() < 0.3:
            seen = np.arange(np.prod(shape)).reshape(shape) % 3 < 2
            seen[..., :1] = True  # the result of a query that sees nothing is not defined
            mask = b.constant(seen)
        else:
            mask = b.fresh(np.float32, shape)
    if outs == 3 and b.rng.random() < 0.4 and not attrs["softcap"]:
        outs, attrs["qk_matmul_output_mode"] = 4, b.rng.choice([0, 1, 2, 3])
    operands += [mask] + caches
    while operands[-1] is None:
        operands.pop()
    return b.add(op, operands, outs, **attrs)


@maker("RotaryEmbedding")
def rotary(b, op):
    batch, heads, steps, size = b.rng.choice([1, 2]), b.rng.choice([1, 3]), b.rng.choice([1, 4]), b.rng.choice([4, 8])
    attrs = {"interleaved": b.rng.choice([None, 1])}
    width = size
    if b.rng.random() < 0.3 and size == 8:
        attrs["rotary_embedding_dim"] = width = 4
    if b.rng.random() < 0.5:
        x = b.fresh(np.float32, (batch, heads, steps, size))
    else:
        x, attrs["num_heads"] = b.fresh(np.float32, (batch, steps, heads * size)), heads
    if b.rng.random() < 0.5:
        caches = [b.fresh(np.float32, (9, width // 2), -1, 1) for _ in range(2)]
        return b.add(op, [x] + caches + [b.fresh(np.int64, (batch, steps), 0, 8)], **attrs)
    return b.add(op, [x] + [b.fresh(np.float32, (batch, steps, width // 2), -1, 1) for _ in range(2)], **attrs)


@maker("TensorScatter")
def tensor_scatter(b, op):
    batch, room, steps = b.rng.choice([1, 3]), 6, b.rng.choice([1, 2, 3])
    mode = b.rng.choice([None, "linear", "circular"])
    most = room - 1 if mode == "circular" else room - steps
    middle = (2,) * b.rng.randrange(2)
    past = b.fresh(np.float32, (batch, *middle, room, 4))
    operands = [past, b.fresh(np.float32, (batch, *middle, steps, 4))]
    if b.rng.random() < 0.8:
        operands.append(b.fresh(np.int64, (batch,), 0, most))
    return b.add(op, operands, exact=True, axis=b.rng.choice([None, -2]), mode=mode)


@maker("DFT")
def fourier(b, op):
    inverse, one_sided = b.rng.choice([(None, None), (None, 1), (1, None)])
    x = b.fresh(np.float32, (b.rng.choice([1, 2]), b.rng.choice([4, 5, 8]), b.rng.choice([1, 6]),
                             1 if one_sided else b.rng.choice([1, 2])))
    axis = b.rng.choice([1, 2])
    operands = [x]
    if b.rng.random() < 0.4:
        operands.append(b.constant(np.array(b.rng.choice([3, 4, 8]), np.int64)))
    if b.opset < 20:
        return b.add(op, operands, axis=axis, inverse=inverse, onesided=one_sided)
    operands = (operands + [None])[:2] + [b.constant(np.array(b.rng.choice([axis, axis - 4]), np.int64))]
    return b.add(op, operands, inverse=inverse, onesided=one_sided)


@maker("STFT")
def short_fourier(b, op):
    x = b.fresh(np.float32, (b.rng.choice([1, 2]), 16, 1))
    frame = b.rng.choice([4, 5, 8])
    window = b.fresh(np.float32, (frame,), 0, 1) if b.rng.random() < 0.5 else None
    length = b.constant(np.array(frame, np.int64)) if window is None or b.rng.random() < 0.5 else None
    operands = [x, b.constant(np.array(b.rng.choice([2, 3, 4]), np.int64)), window, length]
    while operands[-1] is None:
        operands.pop()
    return b.add(op, operands, onesided=b.rng.choice([None, 0, 1]))


@maker("HannWindow", "HammingWindow", "BlackmanWindow")
def window_function(b, op):
    periodic = b.rng.choice([None, 0, 1])
    size = b.rng.choice([2 if periodic == 0 else 1, 2, 5, 10])  # one element that is not periodic is not defined
    return b.add(op, [b.constant(np.array(size, np.int64))], periodic=periodic,
                 output_datatype=b.rng.choice([None, 1, 11]))


@maker("CumSum", "CumProd")
def cumulative(b, op):
    x = b.pick(F32 * 3 + [np.float64, np.int32, np.int64])
    if x.rank == 0:
        raise Skip
    return b.add(op, [x, b.constant(np.array(axis_of(b, x.rank), np.int64))], exact=True,
                 exclusive=b.rng.choice([None, 1]), reverse=b.rng.choice([None, 1]))
