"""Modules of several operators, and of what is no operator."""
from helpers import *  # noqa: F403


def mlp(bb, x):
    for k, (n, m) in enumerate(((8, 16), (16, 16), (16, 4))):
        x = bb.emit(R.add(R.matmul(x, weight(f"w{k}", n, m)), weight(f"b{k}", m)))
        if k < 2:
            x = bb.emit(nn.relu(x))
    return bb.emit(nn.softmax(x))


def convnet(bb, x):
    x = bb.emit(nn.conv2d(x, weight("c0", 8, 3, 3, 3), strides=1, padding=1))
    norm = {} if OLD else dict(training=False)
    x = bb.emit(nn.batch_norm(x, weight("g", 8), weight("b", 8), weight("m", 8), const(np.linspace(0.5, 2, 8)), axis=1,
                              **norm))
    x = bb.emit(nn.relu(bb.emit(relax.TupleGetItem(x, 0))))
    y = bb.emit(nn.conv2d(x, weight("c1", 8, 8, 3, 3), padding=1))
    x = bb.emit(nn.relu(R.add(x, y)))
    x = bb.emit(nn.max_pool2d(x, 2, 2))
    x = bb.emit(nn.adaptive_avg_pool2d(x, 1))
    x = bb.emit(R.reshape(x, relax.ShapeExpr([bb.size("n"), 8])))
    return bb.emit(R.add(R.matmul(x, weight("f", 8, 5)), weight("fb", 5)))


def transformer(bb, x):
    n, heads, width = bb.size("n"), 2, 8
    h = bb.emit(nn.layer_norm(x, const(np.ones(width)), const(np.zeros(width)), axes=[-1]))
    parts = [bb.emit(R.reshape(R.matmul(h, weight(w, width, width)), relax.ShapeExpr([1, n, heads, width // heads])))
             for w in "qkv"]
    h = bb.emit(nn.attention(*parts, causal_mask="TopLeft"))
    h = bb.emit(R.matmul(R.reshape(h, relax.ShapeExpr([1, n, width])), weight("o", width, width)))
    x = bb.emit(R.add(x, h))
    h = bb.emit(nn.rms_norm(x, const(np.ones(width)), axes=[-1]))
    h = bb.emit(nn.gelu(R.matmul(h, weight("up", width, 16))))
    return bb.emit(R.add(x, R.matmul(h, weight("down", 16, width))))


add("mlp", mlp, In("n", 8), n=3)
add("convnet", convnet, In("n", 3, 8, 8), n=2)
add("transformer", transformer, In(1, "n", 8), n=5)
add("tuples", lambda bb, x, y: relax.Tuple([relax.Tuple([x, bb.emit(R.add(x, y))]), y]), In(3), In(3))
add("one_tuple", lambda bb, x: relax.Tuple([bb.emit(R.add(x, x))]), In(3))
add("passed_through", lambda bb, x: relax.Tuple([x, x, const([1, 2])]), In(3))
add("shape_of", lambda bb, x: R.reshape(bb.emit(R.permute_dims(x)), bb.emit(R.shape_of(x))), In("n", 3), n=2)
REFERENCES["shape_of"] = lambda x: x.T.reshape(x.shape)
add("shape_result", lambda bb, x: bb.emit(R.shape_to_tensor(R.shape_of(x))), In("n", 3), n=2)
REFERENCES["shape_result"] = lambda x: np.array(x.shape, "int64")
add("tensor_to_shape", lambda bb, x, s: bb.emit(R.reshape(x, bb.match_cast(
    bb.emit(R.tensor_to_shape(s)), ShapeType([bb.size("a"), bb.size("b")])))), In(3, 4),
    In(2, dtype="int64", make=lambda r, s: [2, 6]))
REFERENCES["tensor_to_shape"] = lambda x, s: x.reshape(s)


def parameters(bb, size):
    """Parameters that are tuples, shapes and integers; the arguments here are what they become."""
    x, a, b = size("n"), size("a"), size("b")
    t = relax.Var("t", TupleType([TensorType([x, 4], "float32"), TensorType([4], "float32")]))
    s = relax.Var("s", ShapeType([a, b]))
    with bb.function("main", [t, s]):
        y = bb.emit(R.add(bb.emit(relax.TupleGetItem(t, 0)), bb.emit(relax.TupleGetItem(t, 1))))
        bb.emit_func_output(relax.Tuple([bb.emit(R.reshape(y, relax.ShapeExpr([b, a]))), relax.Tuple([y])]))
    return bb.get()


module("parameters", parameters, In("n", 4), In(4), In(2, dtype="int64", make=lambda r, s: [6, 2]), n=3)
REFERENCES["parameters"] = lambda x, y, s: [(x + y).reshape(s[::-1]), x + y]


def lowered(build):
    """The operators of a module become PrimFuncs."""
    def whole(bb, size, *inputs):
        params = [relax.Var(f"p{i}", TensorType([size(d) for d in x.shape], x.dtype)) for i, x in enumerate(inputs)]
        with bb.function("main", params):
            with bb.dataflow():
                bb.size = size
                out = bb.emit_output(build(bb, *params))
            bb.emit_func_output(out)
        mod = bb.get() if not OLD else relax.transform.DecomposeOpsForInference()(bb.get())
        mod = relax.transform.LegalizeOps()(mod)
        return relax.transform.FuseTIR()(relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(mod)))
    return whole


module("lowered_mlp", lowered(mlp), In("n", 8), n=3)
module("lowered_convnet", lowered(convnet), In("n", 3, 8, 8), n=2)
module("lowered_transformer", lowered(transformer), In(1, "n", 8), n=5)


def kernels(bb, size):
    """PrimFuncs between operators, with several results and with a size as an argument."""
    n = size("n")
    x = relax.Var("x", TensorType([n, 4], "float32"))

    def both(a):
        return (te.compute(a.shape, lambda *i: a(*i) + 1.0, name="plus"),
                te.compute(a.shape, lambda *i: a(*i) * 2.0, name="times"))

    def doubled(a):
        return te.compute((a.shape[0], a.shape[1]), lambda i, j: a[i, j] * te.const(3.0, "float32"), name="tripled")

    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(nn.relu(x))
            z = bb.emit_te(both, y)
            u = bb.emit(R.reshape(bb.emit(relax.TupleGetItem(z, 0)), relax.ShapeExpr([n * 2, 2])))
            v = bb.emit_te(doubled, u)
            w = bb.emit(R.sum(v, axis=[1]))
            out = bb.emit_output(relax.Tuple([w, bb.emit(relax.TupleGetItem(z, 1))]))
        bb.emit_func_output(out)
    return bb.get()


module("kernels", kernels, In("n", 4), n=3)


def conditional(bb, size):
    """Branches with values of the function around them, and with several results."""
    x = relax.Var("x", TensorType([size("n"), 4], "float32"))
    c = relax.Var("c", TensorType([], "bool"))
    with bb.function("main", [x, c]):
        y = bb.emit(R.add(x, x))
        then = relax.SeqExpr([], relax.Tuple([R.exp(y), R.negative(x)]))
        other = relax.SeqExpr([], relax.Tuple([y, nn.relu(x)]))
        z = bb.emit(relax.If(c, bb.normalize(then), bb.normalize(other)))
        bb.emit_func_output(bb.emit(R.add(relax.TupleGetItem(z, 0), relax.TupleGetItem(z, 1))))
    return bb.get()


for taken in (True, False):
    module(f"if_{taken}".lower(), conditional, In("n", 4), In(dtype="bool", make=lambda r, s, v=taken: v), n=3)


def calls(bb, size):
    """A function that another one calls, with its own names of sizes."""
    m = tir.Var("m", "int64")
    a = relax.Var("a", TensorType([m, 4], "float32"))
    b = relax.Var("b", TensorType([4, m], "float32"))
    with bb.function("inner", [a, b], private=True):
        out = bb.emit(R.matmul(a, b))
        bb.emit_func_output(bb.emit(R.reshape(out, relax.ShapeExpr([m * m]))))
    inner = bb.get().get_global_var("inner")
    x = relax.Var("x", TensorType([size("n"), 4], "float32"))
    with bb.function("main", [x]):
        y = bb.emit(relax.Call(inner, [x, R.permute_dims(x)]))
        z = bb.emit(relax.Call(inner, [R.concat([x, x]), R.permute_dims(R.concat([x, x]))]))
        bb.emit_func_output(relax.Tuple([y, z]))
    return bb.get()


module("calls", calls, In("n", 4), n=2)


def match_cast(bb, size):
    """A parameter of unknown sizes, which get names; and one that is claimed to have a known size."""
    x = relax.Var("x", TensorType(dtype="float32", ndim=2))
    y = relax.Var("y", TensorType([size("k"), 3], "float32"))
    a, b = tir.Var("a", "int64"), tir.Var("b", "int64")
    with bb.function("main", [x, y]):
        u = bb.match_cast(x, TensorType([a, b], "float32"))
        v = bb.match_cast(y, TensorType([2, 3], "float32"))
        u = bb.emit(R.reshape(u, relax.ShapeExpr([a * b])))
        bb.emit_func_output(relax.Tuple([u, bb.emit(R.matmul(v, const(np.ones((3, 2)))))]))
    return bb.get()


module("match_cast", match_cast, In(2, 5), In(2, 3))


def frontend(bb, size):
    """A module of TVM's frontend for networks."""
    from tvm.relax.frontend import nn as fnn

    class Block(fnn.Module):
        def __init__(self):
            self.up = fnn.Linear(8, 16)
            self.norm = fnn.LayerNorm(16)
            self.down = fnn.Linear(16, 4, bias=False)

        def main(self, x):
            return self.down(fnn.op.silu(self.norm(self.up(x))))

    spec = {"main": {"x": fnn.spec.Tensor(["batch", 8], "float32"),
                     "$": {"param_mode": "plain", "effect_mode": "none"}}}
    mod, _ = Block().export_tvm(spec)
    return mod


module("frontend", frontend, In("batch", 8), In(16, 8), In(16), In(16), In(16), In(4, 16), batch=3)


def several(bb, size):
    """Two exported functions, one of which calls a third one that is not exported."""
    x = relax.Var("x", TensorType([4], "float32"))
    with bb.function("shared", [x], private=True):
        bb.emit_func_output(bb.emit(R.multiply(x, const([1, 2, 3, 4]))))
    shared = bb.get().get_global_var("shared")
    y = relax.Var("y", TensorType([4], "float32"))
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(R.add(bb.emit(relax.Call(shared, [y])), y)))
    z = relax.Var("z", TensorType([size("n"), 4], "float32"))
    with bb.function("total", [z]):
        bb.emit_func_output(bb.emit(R.sum(z, axis=[0])))
    return bb.get()


module("several", several, In(4))
