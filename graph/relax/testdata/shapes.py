"""A module for each operator that moves, selects, orders, makes or reduces elements."""
from helpers import *  # noqa: F403


def rising(rng, shape):
    """Different numbers in a random order, so that their order is unique."""
    return (rng.permutation(int(np.prod(shape))).reshape(shape) - 5) * 0.5


add("reshape", lambda bb, x: R.reshape(x, (2, -1, 3)), In(4, 6))
add("reshape_symbols", lambda bb, x: R.reshape(x, relax.ShapeExpr([bb.size("n") * 2, 3])), In("n", 6), n=4)
add("reshape_copy", lambda bb, x: R.reshape(x, (0, -1)), In("n", 3, 2), n=4)
add("permute_dims", lambda bb, x: R.permute_dims(x, [2, 0, 1]), In(2, 3, 4))
add("permute_dims_all", lambda bb, x: R.permute_dims(x), In(2, "n", 4), n=3)
add("concat", lambda bb, x, y: R.concat([x, y], axis=1), In(2, "n"), In(2, "m"), n=3, m=1)
add("stack", lambda bb, x, y: R.stack([x, y], axis=1), In(2, 3), In(2, 3))
add("split", lambda bb, x: R.split(x, 3, axis=1), In(2, 6))
add("split_indices", lambda bb, x: R.split(x, [2, 3], axis=-1), In(2, 6))
add("expand_dims", lambda bb, x: R.expand_dims(x, [0, -1]), In(2, 3))
add("squeeze", lambda bb, x: R.squeeze(x, [0, -1]), In(1, 2, 1, 1))
add("squeeze_all", lambda bb, x: R.squeeze(x), In(1, 2, 1))
add("flatten", lambda bb, x: R.flatten(x), In(2, "n", 2), n=3)
add("batch_flatten", lambda bb, x: nn.batch_flatten(x), In(2, 3, 2))
add("broadcast_to", lambda bb, x: R.broadcast_to(x, relax.ShapeExpr([2, bb.size("n"), 4])), In("n", 1), n=3)
add("repeat", lambda bb, x: R.repeat(x, 3, axis=1), In(2, 3))
add("repeat_flat", lambda bb, x: R.repeat(x, 2), In(2, 3))
add("tile", lambda bb, x: R.tile(x, (2, 1, 3)), In(2, 3))
add("tile_short", lambda bb, x: R.tile(x, 2), In(2, 3))
add("flip", lambda bb, x: R.flip(x, axis=1), In(2, 5))
add("reverse_sequence", lambda bb, x, n: R.reverse_sequence(x, n, seq_axis=0, batch_axis=1), In(5, 3),
    ints(3, low=1, high=5))
add("strided_slice", lambda bb, x: R.strided_slice(x, [0, 1], [1, 0], [9, 7], [1, 2]), In(4, 8))
add("strided_slice_back", lambda bb, x: R.strided_slice(x, [1], [-1], [-9], [-2]), In(2, 7))
add("strided_slice_plain", lambda bb, x: R.strided_slice(x, [1], [2], [6]), In(2, 7))
add("strided_slice_symbols", lambda bb, x: R.strided_slice(x, [0], [1], [bb.size("n")]), In("n", 3), n=4)
add("dynamic_strided_slice", lambda bb, x, b, e: R.dynamic_strided_slice(x, b, e, const([2, 3], "int64")), In(8, 9),
    In(2, dtype="int64", make=lambda r, s: [1, 2]), In(2, dtype="int64", make=lambda r, s: [7, 8]))
add("slice_scatter", lambda bb, x, y: R.slice_scatter(x, y, 1, 6, 2, axis=1), In(2, 7), In(2, 3))
add("pad", lambda bb, x: nn.pad(x, [0, 1, 2, 0], pad_value=1.5), In(2, 3))
add("pad_reflect", lambda bb, x: nn.pad(x, [0, 0, 2, 1], "reflect"), In(2, 4))
add("pixel_shuffle", lambda bb, x: nn.pixel_shuffle(x, 2), In(1, 8, 3, 2))
REFERENCES["pixel_shuffle"] = lambda x: x.reshape(2, 2, 2, 3, 2).transpose(0, 3, 1, 4, 2).reshape(1, 2, 6, 4)
add("meshgrid", lambda bb, x, y: R.meshgrid([x, y]), In(3), In(4))
add("collapse_sum_to", lambda bb, x: R.collapse_sum_to(x, (3, 1)), In(2, 3, 4))
add("collapse_sum_like", lambda bb, x, y: R.collapse_sum_like(x, y), In(2, 3, 4), In(1, 4))

add("take", lambda bb, x, i: R.take(x, i, axis=1), In(2, 5), ints(3, 2, high=4, dtype="int32"))
add("take_flat", lambda bb, x, i: R.take(x, i), In(7), ints(3, high=6))
add("take_wrap", lambda bb, x, i: R.take(x, i, axis=0, mode="wrap"), In(5, 2), ints(6, low=-7, high=9))
add("take_clip", lambda bb, x, i: R.take(x, i, axis=0, mode="clip"), In(5, 2), ints(6, low=-7, high=9))
add("take_scalar", lambda bb, x: R.take(x, prim(2), axis=1), In(2, 5))
add("gather_elements", lambda bb, x, i: R.gather_elements(x, i, axis=1), In(3, 4), ints(3, 2, high=3))
add("gather_nd", lambda bb, x, i: R.gather_nd(x, i), In(3, 4, 2), ints(5, 2, high=2))
add("gather_nd_batch", lambda bb, x, i: R.gather_nd(x, i, batch_dims=1), In(2, 4, 3), ints(2, 5, 1, high=3))
add("index_tensor", lambda bb, x, i, j: R.index_tensor(x, [i, j]), In(3, 4, 2), ints(2, 1, high=2), ints(3, high=3))
for r in "update add mul max min".split():
    rows = In(2, 4, dtype="int64", make=lambda rng, s: [[0, 2, 3, 1], [4, 0, 1, 3]])
    add("scatter_elements_" + r, lambda bb, x, i, u, r=r: R.scatter_elements(x, i, u, axis=1, reduction=r),
        In(2, 5), rows, In(2, 4))
    add("scatter_nd_" + r, lambda bb, x, i, u, r=r: R.scatter_nd(x, i, u, reduction=r), In(6, 2),
        In(3, 1, dtype="int64", make=lambda rng, s: [[4], [1], [3]]), In(3, 2))
add("one_hot", lambda bb, i: R.one_hot(i, prim(5.0, "float32"), prim(-1.0, "float32"), 4, axis=1), ints(2, 3, high=3))
add("one_hot_int", lambda bb, i: R.one_hot(i, prim(1), prim(0), 4), ints(3, high=3, dtype="int32"))
add("masked_fill", lambda bb, x, m: R.masked_fill(x, m, const(1.5)), In(3, 4), In(3, 4, dtype="bool"))

add("full", lambda bb: R.full((2, 3), const(1.5)))
add("full_symbols", lambda bb, x: R.full(relax.ShapeExpr([bb.size("n"), 2]), const(3, "int64"), "float32"),
    In("n"), n=3)
add("full_like", lambda bb, x: R.full_like(x, const(2.0), "int32"), In("n", 2), n=3)
add("zeros", lambda bb: R.zeros((2, 3), "int32"))
add("ones", lambda bb: R.ones((4,), "float16"))
add("zeros_like", lambda bb, x: R.zeros_like(x), In("n", 2), n=3)
add("ones_like", lambda bb, x: R.ones_like(x, "int64"), In(3))
add("eye", lambda bb: R.eye(3, 4, 1, dtype="float32"))
add("eye_like", lambda bb, x: R.eye_like(x, -1), In(3, 4))
add("arange", lambda bb: R.arange(1, 10, 3))
add("arange_back", lambda bb: R.arange(10, 1, -2, "float32"))
add("arange_symbols", lambda bb, x: R.arange(
    tir.IntImm("int64", 0), bb.size("n"), tir.IntImm("int64", 1), dtype="int64"), In("n"), n=5)
add("tril", lambda bb, x: R.tril(x, 1), In(2, 4, 5))
add("triu", lambda bb, x: R.triu(x, -1), In(4, 5))
add("hamming_window", lambda bb: R.hamming_window(8, True, 0.54, 0.46, "float32"))

for op in "sum mean max min prod std variance".split():
    add(op, lambda bb, x, op=op: getattr(R, op)(x, axis=[1, -1]), In(2, 3, 4))
    add(op + "_all", lambda bb, x, op=op: getattr(R, op)(x, keepdims=True), In(2, "n"), n=3)
add("sum_int", lambda bb, x: R.sum(x, axis=0), ints(3, 4, high=9, dtype="int32"))
add("median", lambda bb, x: R.median(x, axis=[1], keepdims=True), In(3, 5, make=rising))
for op in ("argmax", "argmin"):
    add(op, lambda bb, x, op=op: getattr(R, op)(x, axis=1), In(2, 5, 3))
    add(op + "_all", lambda bb, x, op=op: getattr(R, op)(x, keepdims=True), In(2, 5))
for op in ("cumsum", "cumprod"):
    add(op, lambda bb, x, op=op: getattr(R, op)(x, axis=1), In(2, 5))
    add(op + "_flat", lambda bb, x, op=op: getattr(R, op)(x, dtype="float64"), In(2, 3))
    add(op + "_exclusive", lambda bb, x, op=op: getattr(R, op)(x, axis=0, exclusive=True), In(4, 3))
add("cumsum_int", lambda bb, x: R.cumsum(x, axis=0, dtype="int32"), ints(4, 3, dtype="int8"))
add("sort", lambda bb, x: R.sort(x, axis=0), In(6, 2))
add("sort_descending", lambda bb, x: R.sort(x, axis=-1, descending=True), In(2, 6))
add("argsort", lambda bb, x: R.argsort(x, axis=1), In(2, 6, make=rising))
add("argsort_descending", lambda bb, x: R.argsort(x, axis=0, descending=True, dtype="int64"), In(6, 2, make=rising))
add("topk", lambda bb, x: R.topk(x, 3, axis=1), In(2, 6, make=rising))
add("topk_values", lambda bb, x: R.topk(x, 2, axis=0, ret_type="values", largest=False), In(6, 2, make=rising))
add("topk_indices", lambda bb, x: R.topk(x, 2, ret_type="indices", dtype="int64"), In(2, 6, make=rising))
add("bucketize", lambda bb, x, b: R.bucketize(x, b, out_int32=True), In(2, 5), In(3, make=lambda r, s: [-1, 0, 1.5]))
add("bucketize_right", lambda bb, x, b: R.bucketize(x, b, right=True), ints(5, high=3),
    In(3, dtype="int64", make=lambda r, s: [0, 1, 2]))
add("nonzero", lambda bb, x: R.nonzero(x), ints(3, 4, high=1))
add("unique", lambda bb, x: R.unique(x), ints(9, high=4))

add("quantize", lambda bb, x, s, z: R.quantize(x, s, z, axis=1, out_dtype="int8"), In(3, 4), In(4, low=0.05, high=0.2),
    ints(4, low=-3, high=3, dtype="int8"))
add("quantize_scalar", lambda bb, x: R.quantize(x, const(0.1), const(3, "uint8"), out_dtype="uint8"), In(3, 4))
add("dequantize", lambda bb, x, s, z: R.dequantize(x, s, z, axis=0), ints(3, 4, low=-9, high=9, dtype="int8"),
    In(3, low=0.05, high=0.2), ints(3, low=-3, high=3, dtype="int8"))
add("dequantize_scalar", lambda bb, x: R.dequantize(x, const(0.5), const(7, "int8")),
    ints(3, 4, low=-9, high=9, dtype="int8"))
for method in "nearest_neighbor linear cubic".split():
    for coordinates in "half_pixel align_corners asymmetric pytorch_half_pixel".split():
        add(f"resize2d_{method}_{coordinates}", lambda bb, x, m=method, c=coordinates: R.image.resize2d(
            x, relax.ShapeExpr([7, 5]), method=m, cubic_alpha=-0.75, coordinate_transformation_mode=c,
            **(dict(rounding_method="floor") if c == "asymmetric" else {})), In(1, 2, 4, 6))
add("resize2d_nhwc", lambda bb, x: R.image.resize2d(x, (3, 8), layout="NHWC", method="linear"), In(1, 5, 4, 2))
add("grid_sample", lambda bb, x, g: R.image.grid_sample(x, g, "bilinear", "NCHW", "zeros", True), In(1, 2, 4, 5),
    In(1, 2, 3, 3, low=-1.2, high=1.2))
add("resize3d", lambda bb, x: R.image.resize3d(x, (3, 4, 6), method="linear"), In(1, 2, 4, 3, 5))
add("index_put", lambda bb, x, i, j, v: R.index_put(x, [i, j], v, accumulate=True), In(4, 5), ints(3, high=3),
    In(3, dtype="int64", make=lambda r, s: [4, 0, 2]), In(3))
add("size", lambda bb, x: R.size(x), In("n", 4), n=3)
add("stop_lift_params", lambda bb, x: R.builtin.stop_lift_params(x), In(4))
REFERENCES["stop_lift_params"] = lambda x: x
add("affine_grid", lambda bb, x: R.image.affine_grid(x, (3, 4)), In(2, 2, 3))
add("resize3d_nearest", lambda bb, x: R.image.resize3d(x, (3, 4, 6), method="nearest_neighbor"), In(1, 2, 4, 3, 5))
add("resize3d_asymmetric", lambda bb, x: R.image.resize3d(
    x, (3, 4, 6), method="nearest_neighbor", coordinate_transformation_mode="asymmetric"), In(1, 2, 4, 3, 5))
