"""Writes small models that once failed, with the results of onnxruntime, in ONNX's own test layout: cases.py FOLDER."""
import pathlib
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

from builder import session

f32 = np.float32
# Name, operator set, graph, and inputs.
CASES = [
    ("scan_reversed_output", 21, """g (float[5,1] a, float[1,2,2] x) => (float[] u, float[] w) {
        u, w = Scan <num_scan_inputs: int = 1, scan_input_axes: ints = [2], scan_output_directions: ints = [1],
            body: graph = b (float[5,1] p, float[1,2] row) => (float[5,1] q, float[1,2] r) {
                q = Identity(p) r = Identity(row) }> (a, x) }""",
     [np.ones((5, 1), f32), np.arange(4, dtype=f32).reshape(1, 2, 2)]),
    ("scan_of_batches", 8, """g (float[n,2] a, float[n,3,2] x, float[n,3,2] k) => (float[n,2] y, float[n,3,2] z) {
        y, z = Scan <num_scan_inputs: int = 2, directions: ints = [1, 0],
            body: graph = b (float[2] s, float[2] p, float[2] q) => (float[2] t, float[2] u) {
                v = Sub(p, s) t = Mul(v, q) u = Identity(t) }> ("", a, x, k) }""",
     [np.array([[1, 2], [3, 4]], f32), np.arange(12, dtype=f32).reshape(2, 3, 2), np.ones((2, 3, 2), f32) / 2]),
    ("softmax_of_nothing", 11, "g (float[2,0,3] a) => (float[2,0,3] y) { y = Softmax<axis=1>(a) }",
     [np.ones((2, 0, 3), f32)]),
    ("mean_of_integers", 13, "g (int32[2,3] a) => (int32[2] y) { y = ReduceMean<axes=[1], keepdims=0>(a) }",
     [np.array([[1, 5, 3], [-3, -2, -3]], np.int32)]),
    ("nonzero_of_nothing", 13, "g (float[0] a) => (int64[] y) { y = NonZero(a) }", [np.ones(0, f32)]),
    ("body_returns_an_outer_value", 14, """g (int64[4] x, bool c) => (int64[] y, int64[] z) {
        v = NonZero(x)
        w = If(c) <then_branch = t () => (int64[] p) { p = Identity(v) }, else_branch = e () => (int64[] q) {
            q = Identity(v) }>
        keep = Constant<value: tensor = bool[4] {1, 1, 0, 0}>()
        y = Compress<axis=1>(w, keep) z = Neg(w) }""",
     [np.array([1, 2, 3, 4]), np.array(True)]),
    ("loop_without_iteration", 14, """g (float[2,3] x, int64 n) => (float[2,3] z) {
        v = Exp(x)
        w = Loop(n, , v) <body = b (int64 i, bool go, float[2,3] p) => (bool again, float[2,3] q) {
            again = Identity(go) q = Identity(p) }>
        t = Softmax(x) z = Sub(w, t) }""",
     [np.ones((2, 3), f32), np.array(0)]),
    ("old_hardmax", 7, "g (float[2,3,2] x) => (float[2,3,2] y) { y = Hardmax<axis=1>(x) }",
     [np.arange(12, dtype=f32).reshape(2, 3, 2) % 5]),
    ("layer_norm_of_selected_rows", 22, """g (float[6,4,3] x, float[4,3] s) => (float[] y) {
        keep = Constant<value: tensor = bool[3] {1, 1, 1}>() v = Compress<axis=2>(x, keep)
        y = LayerNormalization<axis=1, epsilon=0.1>(v, s) }""",
     [np.arange(72, dtype=f32).reshape(6, 4, 3) % 7, np.ones((4, 3), f32)]),
    ("elements_of_constants_that_grow", 11, """g (float[1,1,4,8] d) => (float[1] y) {
        c = Constant<value: tensor = float[8] {1, 2, 3, 4, 5, 6, 7, 8}>() e = Constant<value: tensor = float {2.5}>()
        v = Mod<fmod=1>(c, e) s = ReduceLogSumExp<keepdims=1>(v) y = ReduceL1(s) }""",
     [np.ones((1, 1, 4, 8), f32)]),
    ("inputs_and_constants_are_outputs", 17, """g (float[2] x, float[0] e) => (float[2] x, float[2] w, float[0] e,
        float[2] a, float[2] b, float z, float[0,3] n) <float[2] w = {3, 4}> {
        a = Identity(x) b = Identity(a) z = Constant<value: tensor = float {5}>() c = Constant<value_ints=[0, 3]>()
        n = ConstantOfShape(c) }""",
     [np.array([1, 2], f32), np.ones(0, f32)]),
    ("nothing_and_scalars", 17, """g (float[0,3] x, float s, bool[0] k) => (float[1,3] a, float[3] b,
        float[0,2] c, float d, float[0,3] e, float[0,3] f, float[2,3] m, int64 h, float[2,0] i, float[] j) {
        ax = Constant<value_ints=[0]>() w = Constant<value: tensor = float[3,2] {1, 2, 3, 4, 5, 6}>()
        y = Constant<value: tensor = float[2,3] {1, 2, 3, 4, 5, 6}>() t = Greater(x, s)
        a = ReduceSum<keepdims=1>(x, ax) b = ReduceProd<axes=[0], keepdims=0>(x) c = MatMul(x, w) d = Mul(s, s)
        e = Softmax(x) f = Where(t, x, x) m = Concat<axis=0>(x, y) h = Size(k) i = Transpose(c) j = Compress(x, k) }""",
     [np.ones((0, 3), f32), np.array(2, f32), np.ones(0, bool)]),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, opset, text, inputs in CASES:
        model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{text}')
        path = folder / name
        (path / "test_data_set_0").mkdir(parents=True)
        onnx.save(model, path / "model.onnx")
        got = session(model).run(None, {i.name: a for i, a in zip(model.graph.input, inputs)})
        for kind, arrays in (("input", inputs), ("output", got)):
            for k, a in enumerate(arrays):
                file = path / "test_data_set_0" / f"{kind}_{k}.pb"
                file.write_bytes(numpy_helper.from_array(np.asarray(a)).SerializeToString())


main()
