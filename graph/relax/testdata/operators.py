"""A module for each operator, or for each form of it."""
from helpers import *  # noqa: F403

# Elementwise.
POSITIVE = dict(low=0.1, high=3.0)
UNIT = dict(low=-0.9, high=0.9)
for op, limits in dict(
        abs={}, acos=UNIT, acosh=dict(low=1.1, high=4.0), asin=UNIT, asinh={}, atan={}, atanh=UNIT, ceil={}, cos={},
        cosh={}, erf={}, exp={}, floor={}, log=POSITIVE, negative={}, rsqrt=POSITIVE, sigmoid={}, sign={}, sin={},
        sinh={}, sqrt=POSITIVE, square={}, tan=UNIT, tanh={}, trunc={}, isfinite={}, isinf={}, isnan={}).items():
    add(op, lambda bb, x, op=op: getattr(R, op)(x), In(3, 5, **limits))
add("round", lambda bb, x: R.round(x), In(8, make=lambda r, s: [-2.5, -1.5, -0.5, 0.4, 0.5, 1.5, 2.5, 2.6]))
add("special", lambda bb, x: relax.Tuple([bb.emit(f(x)) for f in (R.isnan, R.isinf, R.isfinite)]),
    In(5, make=lambda r, s: [0, np.nan, np.inf, -np.inf, 1]))
add("negative_int", lambda bb, x: R.negative(x), ints(7, low=-9, high=9, dtype="int32"))
add("logical_not", lambda bb, x: R.logical_not(x), In(6, dtype="bool"))
add("bitwise_not", lambda bb, x: R.bitwise_not(x), ints(6, low=-9, high=9, dtype="int32"))
for op in "add subtract multiply divide maximum minimum log_add_exp atan2".split():
    add(op, lambda bb, x, y, op=op: getattr(R, op)(x, y), In(2, 3, 4), In(3, 1))
add("power", lambda bb, x, y: R.power(x, y), In(3, 4, **POSITIVE), In(4))
for op in "floor_divide mod floor_mod".split():
    add(op, lambda bb, x, y, op=op: getattr(R, op)(x, y), In(3, 4, low=-9, high=9), In(4, low=1, high=4))
    add(op + "_int", lambda bb, x, y, op=op: getattr(R, op)(x, y), ints(3, 4, low=-9, high=9), ints(4, low=1, high=4))
add("divide_int", lambda bb, x, y: R.divide(x, y), ints(3, 4, low=-9, high=9), ints(4, low=1, high=4))
for op in "equal not_equal greater greater_equal less less_equal".split():
    add(op, lambda bb, x, y, op=op: getattr(R, op)(x, y), ints(3, 4), ints(4))
for op in "logical_and logical_or logical_xor".split():
    add(op, lambda bb, x, y, op=op: getattr(R, op)(x, y), In(3, 4, dtype="bool"), In(4, dtype="bool"))
for op in "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split():
    add(op, lambda bb, x, y, op=op: getattr(R, op)(x, y), ints(3, 4, high=9, dtype="int32"),
        ints(4, high=5, dtype="int32"))
add("ewise_fma", lambda bb, x, y, z: R.ewise_fma(x, y, z), In(4), In(4), In(4))
REFERENCES["ewise_fma"] = lambda x, y, z: x * y + z
add("where", lambda bb, c, x, y: R.where(c, x, y), In(3, 4, dtype="bool"), In(4), In(3, 1))
add("clip", lambda bb, x: R.clip(x, -1, 0.5) if not OLD else R.clip(x, prim(-1), prim(0.5, "float32")), In(9))
for t in "float16 int32 bool float64 uint8".split():
    add("astype_" + t, lambda bb, x, t=t: R.astype(x, t), In(6, low=0, high=9))
add("scalar_operand", lambda bb, x: R.multiply(x, const(2.5)), In(3, 4))
add("nn_relu", lambda bb, x: nn.relu(x), In(9))
add("nn_relu6", lambda bb, x: nn.relu6(x), In(9, low=-9, high=9))
for op in "gelu gelu_tanh silu selu softplus leakyrelu".split():
    add("nn_" + op, lambda bb, x, op=op: getattr(nn, op)(x), In(3, 5))
add("nn_leakyrelu_alpha", lambda bb, x: nn.leakyrelu(x, 0.3), In(9))
add("nn_softplus_beta", lambda bb, x: nn.softplus(x, 2.0, 1.0), In(9))
add("nn_prelu", lambda bb, x, a: nn.prelu(x, a, axis=1), In(2, 3, 4), In(3))
add("nn_softmax", lambda bb, x: nn.softmax(x, axis=1), In(2, 3, 4))
add("nn_log_softmax", lambda bb, x: nn.log_softmax(x, axis=-1), In(2, 3, 4))

# Products.
add("matmul", lambda bb, x, y: R.matmul(x, y), In("n", 4), In(4, 5), n=3)
add("matmul_batch", lambda bb, x, y: R.matmul(x, y), In(2, 1, 3, 4), In(3, 4, 5))
add("matmul_vectors", lambda bb, x, y: R.matmul(x, y), In(4), In(2, 4, 3))
add("matmul_half", lambda bb, x, y: R.matmul(x, y, out_dtype="float32"), In(3, 4, dtype="float16"),
    In(4, 2, dtype="float16"))
add("matmul_int8", lambda bb, x, y: R.matmul(x, y, out_dtype="int32"), ints(3, 4, low=-9, high=9, dtype="int8"),
    ints(4, 2, low=-9, high=9, dtype="int8"))
add("linear", lambda bb, x, w, b: R.linear(x, w, b), In(2, "n", 4), In(5, 4), In(5), n=3)
add("einsum", lambda bb, x, y: R.einsum((x, y), "bij,bjk->bik"), In(2, 3, 4), In(2, 4, 5))
add("outer", lambda bb, x, y: R.outer(x, y), In(3), In(4))

# Convolutions and pools.
add("conv1d", lambda bb, x, w: nn.conv1d(x, w, strides=2, padding=(1, 2)), In(2, 4, 9), In(6, 4, 3))
add("conv1d_nwc", lambda bb, x, w: nn.conv1d(x, w, data_layout="NWC", kernel_layout="WIO"), In(2, 9, 4), In(3, 4, 5))
add("conv2d", lambda bb, x, w: nn.conv2d(x, w, strides=(2, 1), padding=(1, 0, 2, 1), dilation=(1, 2)), In(2, 4, 8, 9),
    In(6, 4, 3, 3))
add("conv2d_groups", lambda bb, x, w: nn.conv2d(x, w, padding=1, groups=4), In("n", 4, 6, 6), In(8, 1, 3, 3), n=2)
add("conv2d_nhwc", lambda bb, x, w: nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
    In(1, 6, 5, 4), In(3, 3, 4, 8))
add("conv2d_half", lambda bb, x, w: nn.conv2d(x, w, out_dtype="float32"), In(1, 2, 5, 5, dtype="float16"),
    In(3, 2, 3, 3, dtype="float16"))
add("conv3d", lambda bb, x, w: nn.conv3d(x, w, padding=1, strides=2), In(1, 2, 5, 6, 4), In(3, 2, 3, 3, 3))
add("conv1d_transpose", lambda bb, x, w: nn.conv1d_transpose(x, w, strides=2, padding=(1, 1), output_padding=1),
    In(1, 3, 6), In(3, 4, 3))
add("conv2d_transpose", lambda bb, x, w: nn.conv2d_transpose(x, w, strides=2, padding=1, output_padding=(1, 0)),
    In(1, 4, 5, 4), In(4, 3, 3, 3))
add("conv2d_transpose_plain", lambda bb, x, w: nn.conv2d_transpose(x, w), In(1, 2, 5, 4), In(2, 3, 3, 2))
add("conv3d_transpose", lambda bb, x, w: nn.conv3d_transpose(x, w, strides=2, padding=1), In(1, 2, 3, 4, 3),
    In(2, 3, 3, 3, 3))
for n, k in ((1, "1d"), (2, "2d"), (3, "3d")):
    shape = (1, 2) + (7, 6, 8)[:n]
    add("max_pool" + k, lambda bb, x, n=n, k=k: getattr(nn, "max_pool" + k)(
        x, (3,) * n, (2,) * n, (1,) * n), In(*shape))
    add("avg_pool" + k, lambda bb, x, n=n, k=k: getattr(nn, "avg_pool" + k)(
        x, (3,) * n, (2,) * n, (1,) * n, count_include_pad=n == 3), In(*shape))
    add("adaptive_avg_pool" + k, lambda bb, x, n=n, k=k: getattr(nn, "adaptive_avg_pool" + k)(x, (3,) * n), In(*shape))
add("max_pool2d_ceil", lambda bb, x: nn.max_pool2d(x, (3, 2), 2, (0, 1, 1, 0), ceil_mode=True), In(1, 2, 8, 7))
add("max_pool2d_dilation", lambda bb, x: nn.max_pool2d(x, 2, dilation=2, layout="NHWC"), In(1, 7, 6, 2))
add("avg_pool2d_include", lambda bb, x: nn.avg_pool2d(x, 3, 2, 1, count_include_pad=True), In(1, 2, 7, 6))
add("avg_pool2d_ceil", lambda bb, x: nn.avg_pool2d(x, 3, 2, 0, ceil_mode=True, count_include_pad=False), In(1, 2, 8, 6))
add("avg_pool2d_nhwc", lambda bb, x: nn.avg_pool2d(x, 2, 2, layout="NHWC"), In(1, 6, 4, 3))
add("adaptive_avg_pool2d_one", lambda bb, x: nn.adaptive_avg_pool2d(x, 1), In(2, 3, 5, 4))
add("adaptive_avg_pool2d_even", lambda bb, x: nn.adaptive_avg_pool2d(x, (3, 2), layout="NHWC"), In(2, 6, 4, 3))

# Normalisations.
INFERENCE = {} if OLD else dict(training=False)
add("batch_norm", lambda bb, x, g, b, m, v: nn.batch_norm(x, g, b, m, v, axis=1, **INFERENCE),
    In(2, 3, 4, 5), In(3), In(3), In(3), In(3, **POSITIVE))
add("batch_norm_last", lambda bb, x, m, v: nn.batch_norm(
    x, const(np.ones(3)), const(np.zeros(3)), m, v, axis=-1, center=False, scale=False, epsilon=1e-3,
    **INFERENCE), In(2, 4, 3), In(3), In(3, **POSITIVE))
add("batch_norm_training", lambda bb, x, g, b, m, v: nn.batch_norm(x, g, b, m, v, axis=1, momentum=0.3, training=True),
    In(2, 3, 4, 5), In(3), In(3), In(3), In(3, **POSITIVE))
add("layer_norm", lambda bb, x, g, b: nn.layer_norm(x, g, b, axes=-1), In("n", 3, 8), In(8), In(8), n=2)
add("layer_norm_axes", lambda bb, x, g, b: nn.layer_norm(x, g, b, axes=[-2, -1], epsilon=1e-3), In(2, 3, 8), In(3, 8),
    In(3, 8))
add("layer_norm_first", lambda bb, x, g, b: nn.layer_norm(x, g, b, axes=[1]), In(2, 3, 8), In(3), In(3))
add("layer_norm_plain", lambda bb, x, g, b: nn.layer_norm(x, g, b, axes=[-1], center=False, scale=False), In(2, 8),
    In(8), In(8))
add("group_norm", lambda bb, x, g, b: nn.group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[2, 3]), In(2, 4, 3, 5),
    In(4), In(4))
add("group_norm_last", lambda bb, x, g, b: nn.group_norm(x, g, b, num_groups=2, channel_axis=-1, axes=[1]), In(2, 5, 4),
    In(4), In(4))
add("instance_norm", lambda bb, x, g, b: nn.instance_norm(x, g, b, channel_axis=1, axes=[2, 3]), In(2, 4, 3, 5), In(4),
    In(4))
add("rms_norm", lambda bb, x, w: nn.rms_norm(x, w, axes=-1, epsilon=1e-5), In(2, "n", 8), In(8), n=3)
add("rms_norm_axes", lambda bb, x, w: nn.rms_norm(x, w, axes=[1, 2], epsilon=1e-5), In(2, 3, 8), In(3, 8))
add("dropout", lambda bb, x: nn.dropout(x, 0.5), In(3, 4))
add("dropout_used", lambda bb, x: bb.emit(nn.dropout(x, 0.5))[0], In(3, 4))

# Attention.
HEADS = (In(2, 5, 3, 8), In(2, 6, 3, 8), In(2, 6, 3, 4))
add("attention", lambda bb, q, k, v: nn.attention(q, k, v), *HEADS)
add("attention_scale", lambda bb, q, k, v: nn.attention(q, k, v, scale=tir.FloatImm("float32", 0.3)), *HEADS)
add("attention_causal", lambda bb, q, k, v: nn.attention(q, k, v, causal_mask="TopLeft"), *HEADS)
add("attention_bottom", lambda bb, q, k, v: nn.attention(q, k, v, causal_mask="BottomRight"), *HEADS)
add("attention_bias", lambda bb, q, k, v, b: nn.attention(q, k, v, b), *HEADS, In(2, 3, 5, 6))
add("attention_bias_causal", lambda bb, q, k, v, b: nn.attention(q, k, v, b, causal_mask="BottomRight"), *HEADS,
    In(2, 1, 5, 6))
add("attention_dynamic", lambda bb, q, k, v: nn.attention(q, k, v, causal_mask="BottomRight"), In(1, "n", 2, 4),
    In(1, "m", 2, 4), In(1, "m", 2, 4), n=3, m=5)
add("cross_entropy", lambda bb, x, y: nn.cross_entropy_with_logits(x, y), In(3, 4), In(3, 4))
add("nll_loss", lambda bb, x, y, w: nn.nll_loss(x, y, w, reduction="mean", ignore_index=1), In(3, 4), ints(3, high=3),
    In(4, **POSITIVE))
add("nll_loss_none", lambda bb, x, y: nn.nll_loss(x, y, reduction="none"), In(3, 4, 2), ints(3, 2, high=3))
