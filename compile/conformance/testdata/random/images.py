"""Makes random nodes of the operators on images and boxes."""
import numpy as np

from builder import Skip
from operators import F32, maker


@maker("GridSample")
def grid_sample(b, op):
    d = b.rng.choice([2, 2, 3]) if b.opset >= 20 else 2
    batch, (sizes, to) = b.rng.choice([1, 2]), (b.shape(d, 6), b.shape(d, 5))
    if 0 in sizes:
        raise Skip  # there is nothing to sample
    modes = ["linear", "nearest", "cubic"] if b.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    x = b.fresh(np.float32, (batch, b.rng.choice([1, 2])) + sizes)
    grid = b.fresh(np.float32, (batch,) + to + (d,), -1, 1)
    mode, padding = b.rng.choice(modes[:2] if d == 3 else modes), b.rng.choice([None, "zeros", "border", "reflection"])
    # places outside, and none between elements; for cubic kernels there, onnxruntime differs from ONNX's reference
    if b.rng.random() < 0.5 and (mode not in ("cubic", "bicubic") or padding not in ("border", "reflection")):
        grid, = b.add("Mul", [grid, b.constant(np.array(1.3, np.float32))])
    return b.add(op, [x, grid], mode=mode, padding_mode=padding,
                 align_corners=b.rng.choice([None, 0, 1]))


@maker("AffineGrid")
def affine_grid(b, op):
    d, batch = b.rng.choice([2, 3]), b.rng.choice([1, 2])
    size = np.array([batch, 3] + [b.rng.choice([1, 2, 5]) for _ in range(d)], np.int64)
    align = None if 1 in size[2:] else b.rng.choice([None, 0, 1])  # the corners of a single element are not defined
    return b.add(op, [b.fresh(np.float32, (batch, d, d + 1)), b.constant(size)], align_corners=align)


@maker("RoiAlign")
def roi_align(b, op):
    n, g = b.rng.choice([1, 3]), np.random.default_rng(b.rng.randrange(1 << 32))
    low = g.integers(0, 5, (n, 2))
    rois = np.concatenate([low, low + g.integers(1, 6, (n, 2))], 1).astype(np.float32)
    attrs = {"mode": b.rng.choice([None, "avg", "max"]), "output_height": b.rng.choice([None, 2, 3]),
             "output_width": b.rng.choice([None, 2]), "sampling_ratio": b.rng.choice([None, 1, 2]),
             "spatial_scale": b.rng.choice([None, 0.5])}
    if attrs["mode"] == "max":
        attrs["sampling_ratio"] = 1  # onnxruntime says itself that it is wrong for others
    if b.opset >= 16:
        attrs["coordinate_transformation_mode"] = b.rng.choice([None, "half_pixel", "output_half_pixel"])
    return b.add(op, [b.fresh(np.float32, (2, b.rng.choice([1, 3]), 6, 8)), b.input(rois),
                      b.fresh(np.int64, (n,), 0, 1)], **attrs)


@maker("DeformConv")
def deform_conv(b, op):
    groups, channels, filters = b.rng.choice([(1, 2, 2), (2, 4, 2)])
    own = b.rng.choice([1, 2])  # groups of channels with offsets of their own
    k, pad, stride = b.rng.choice([1, 2, 3]), b.rng.choice([0, 1]), b.rng.choice([1, 2])
    h, w = 5, 6
    to = [(n + 2 * pad - k) // stride + 1 for n in (h, w)]
    operands = [b.fresh(np.float32, (2, channels, h, w)),
                b.fresh(np.float32, (filters, channels // groups, k, k), -1, 1),
                b.fresh(np.float32, (2, own * k * k * 2, *to), -1, 1)]
    if b.rng.random() < 0.5:
        operands += [b.fresh(np.float32, (filters,)), b.fresh(np.float32, (2, own * k * k, *to), 0, 1)]
    return b.add(op, operands, group=groups, offset_group=own, pads=[pad] * 4, strides=[stride] * 2)


@maker("Col2Im")
def col_to_image(b, op):
    h, w, kh, kw = b.rng.choice([(4, 5, 2, 2), (3, 3, 3, 1), (5, 4, 1, 2)])
    pad, dilation, stride = b.rng.choice([0, 1]), b.rng.choice([1, 2]), b.rng.choice([1, 2])
    blocks = 1
    for n, k in ((h, kh), (w, kw)):
        blocks *= (n + 2 * pad - dilation * (k - 1) - 1) // stride + 1
    if blocks <= 0:
        raise Skip
    x = b.fresh(np.float32, (b.rng.choice([1, 2]), b.rng.choice([1, 3]) * kh * kw, blocks))
    return b.add(op, [x, b.constant(np.array([h, w], np.int64)), b.constant(np.array([kh, kw], np.int64))], exact=True,
                 dilations=[dilation] * 2, pads=[pad] * 4, strides=[stride] * 2)


@maker("MaxUnpool")
def max_unpool(b, op):
    if b.opset < 9:
        raise Skip
    more, channels = [], b.rng.choice([1, 2])
    if b.rng.random() < 0.3:  # onnxruntime takes indices as those of this shape, and the standard does not
        channels, more = 1, [b.constant(np.array([1, 1, 5, 6], np.int64))]
    x = b.fresh(np.float32, (1, channels, 4, 6))
    y, places = b.add("MaxPool", [x], 2, exact=True, kernel_shape=[2, 2], strides=[2, 2])
    return b.add(op, [y, places] + more, exact=True, kernel_shape=[2, 2], strides=[2, 2])


@maker("NonMaxSuppression")
def non_max_suppression(b, op):
    batch, classes, n = b.rng.choice([1, 2]), b.rng.choice([1, 2]), b.rng.choice([1, 6])
    g = np.random.default_rng(b.rng.randrange(1 << 32))
    low = g.integers(0, 6, (batch, n, 2))
    size = g.integers(1, 5, (batch, n, 2))
    boxes = np.concatenate([low + size, size], 2) if b.rng.random() < 0.3 else np.concatenate([low, low + size], 2)
    scores = g.permuted(np.broadcast_to(np.arange(n) / 8, (batch, classes, n)), axis=2)
    operands = [b.input(boxes.astype(np.float32)), b.input(scores.astype(np.float32)),
                b.constant(np.array(b.rng.choice([1, 2, 9]), np.int64))]
    operands.append(b.constant(np.array(b.rng.choice([0.3, 0.6]), np.float32)))
    if b.rng.random() < 0.5:
        operands.append(b.constant(np.array(0.2, np.float32)))
    return b.add(op, operands, center_point_box=b.rng.choice([None, 0, 1]))


@maker("CenterCropPad")
def center_crop_pad(b, op):
    x = b.pick(F32, range(1, 5))
    axes = sorted(b.rng.sample(range(x.rank), b.rng.randint(1, x.rank)))
    if b.rng.random() < 0.3:
        axes = list(range(x.rank))
    size = b.constant(np.array([b.rng.choice([1, 2, 4, 7]) for _ in axes], np.int64))
    return b.add(op, [x, size], exact=True, axes=None if len(axes) == x.rank and b.rng.random() < 0.5 else axes)


@maker("Det")
def determinant(b, op):
    n = b.rng.choice([1, 2, 3, 4])
    return b.add(op, [b.fresh(np.float32, b.shape(b.rng.choice([0, 1])) + (n, n), -2, 2)])
