"""Neural networks: dense, convolutional, a transformer block."""

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import FoldConstant, FoldBatchnormToConv2D
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from models import WAYS, constant, program, random

op, nn = relax.op, relax.op.nn


def bound(name, module, arrays):
    """The module with parameters of a function as constants."""
    return relax.transform.BindParams(name, arrays)(module)


@I.ir_module
class MLP:
    @R.function
    def forward(x: R.Tensor(("batch", 16), "float32"), w1: R.Tensor((32, 16), "float32"),
                b1: R.Tensor((32,), "float32"), w2: R.Tensor((8, 32), "float32"), b2: R.Tensor((8,), "float32")):
        with R.dataflow():
            hidden = R.nn.relu(R.add(R.matmul(x, R.permute_dims(w1)), b1))
            out = R.add(R.matmul(hidden, R.permute_dims(w2)), b2)
            R.output(out)
        return out


weights = {"w1": random("w1", 32, 16), "b1": random("b1", 32), "w2": random("w2", 8, 32), "b2": random("b2", 8)}
batches = [random("mlp", n, 16) for n in (1, 3, 64, 1000)]
wrong = [random("mlp", 3, 15), random("mlp", 3, 16, dtype="float64"), random("mlp", 16), np.zeros((0, 16), "float32")]
program("mlp", MLP, [("forward", [x, *weights.values()]) for x in batches + wrong], ways=WAYS)
program("mlp_bound", bound("forward", MLP, weights), [("forward", [x]) for x in batches + wrong])


def convnet():
    """A convolution with batch norm, a residual block, pooling and a dense layer."""
    bb = relax.BlockBuilder()
    x = relax.Var("image", relax.TensorType((2, 3, 16, 16), "float32"))

    def conv_bn(x, name, channels, strides=1):
        cin = int(x.ty.shape[1])
        y = bb.emit(nn.conv2d(x, constant(name, channels, cin, 3, 3), strides=strides, padding=1))
        stat = [relax.const(np.abs(random(name + s, channels)) + 0.5, "float32") for s in ("g", "b", "m", "v")]
        norm = bb.emit(nn.batch_norm(y, *stat, axis=1, training=False))
        return bb.emit(relax.TupleGetItem(norm, 0))

    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(nn.relu(conv_bn(x, "first", 8)))
            y = bb.emit(nn.max_pool2d(y, (2, 2), (2, 2)))
            z = bb.emit(nn.relu(conv_bn(y, "second", 8)))
            y = bb.emit(nn.relu(bb.emit(op.add(conv_bn(z, "third", 8), y))))
            y = bb.emit(nn.avg_pool2d(y, (2, 2), (2, 2)))
            y = bb.emit(op.mean(y, [2, 3]))
            y = bb.emit(op.matmul(y, constant("dense", 8, 10)))
            out = bb.emit_output(nn.log_softmax(y))
        bb.emit_func_output(out)
    return bb.get()


image = [("main", [random("image", 2, 3, 16, 16)]), ("main", [random("image", 1, 3, 16, 16)])]
program("convnet", tvm.transform.Sequential([relax.transform.DecomposeOpsForInference(), FoldConstant()])(convnet()),
        image, ways=WAYS)
program("convnet_folded", tvm.transform.Sequential(
    [FoldBatchnormToConv2D(), relax.transform.DecomposeOpsForInference(), FoldConstant()])(convnet()), image)


def convolutions():
    """Other kinds of convolutions and pooling, with a dynamic batch."""
    bb = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 4, 12, 12), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            depthwise = bb.emit(nn.conv2d(x, constant("depthwise", 4, 1, 3, 3), padding=1, groups=4))
            dilated = bb.emit(nn.conv2d(depthwise, constant("dilated", 6, 4, 3, 3), dilation=2, strides=2))
            transposed = bb.emit(nn.conv2d_transpose(dilated, constant("transposed", 6, 2, 2, 2), strides=2))
            pooled = bb.emit(nn.adaptive_avg_pool2d(transposed, (4, 4)))
            resized = bb.emit(op.image.resize2d(pooled, relax.ShapeExpr([6, 6]), method="nearest_neighbor"))
            flat = bb.emit(op.flatten(resized))
            padded = bb.emit(nn.pad(pooled, (0, 0, 0, 0, 1, 1, 1, 1)))
            out = bb.emit_output(relax.Tuple([bb.normalize(nn.silu(flat)), padded]))
        bb.emit_func_output(out)
    return bb.get()


program("convolutions", convolutions(), [("main", [random("x", n, 4, 12, 12)]) for n in (1, 5)],
        ways=("llvm", "llvm_compiled", "c"))


def transformer(width=32, heads=4):
    """A block of a decoder: attention with a causal mask, layer norms, gelu; the length is dynamic."""
    bb = relax.BlockBuilder()
    s = tvm.tirx.Var("seq", "int64")
    x = relax.Var("x", relax.TensorType((1, s, width), "float32"))
    mask = relax.Var("mask", relax.TensorType((s, s), "float32"))

    def dense(x, name, cin, cout):
        y = bb.emit(op.matmul(x, constant(name + ".w", cin, cout)))
        return bb.emit(op.add(y, constant(name + ".b", cout)))

    def norm(x, name):
        return bb.emit(nn.layer_norm(x, constant(name + ".g", width), constant(name + ".b", width), axes=-1))

    def split(x):
        x = bb.emit(op.reshape(x, (1, s, heads, width // heads)))
        return bb.emit(op.permute_dims(x, [0, 2, 1, 3]))

    with bb.function("main", [x, mask]):
        with bb.dataflow():
            h = norm(x, "norm1")
            q, k, v = (split(dense(h, name, width, width)) for name in "qkv")
            scores = bb.emit(op.matmul(q, bb.emit(op.permute_dims(k, [0, 1, 3, 2]))))
            scores = bb.emit(op.multiply(scores, relax.const(float((width // heads) ** -0.5), "float32")))
            scores = bb.emit(nn.softmax(bb.emit(op.add(scores, mask)), axis=-1))
            y = bb.emit(op.permute_dims(bb.emit(op.matmul(scores, v)), [0, 2, 1, 3]))
            y = bb.emit(op.add(x, dense(bb.emit(op.reshape(y, (1, s, width))), "o", width, width)))
            h = dense(norm(y, "norm2"), "up", width, 2 * width)
            h = dense(bb.emit(nn.gelu(h)), "down", 2 * width, width)
            out = bb.emit_output(op.add(y, h))
        bb.emit_func_output(out)
    return bb.get()


def causal(n):
    return np.triu(np.full((n, n), -1e9, "float32"), 1)


program("transformer", transformer(), [
    *[("main", [random("tokens", 1, n, 32), causal(n)]) for n in (1, 2, 7, 33)],
    ("main", [random("tokens", 1, 4, 32), causal(5)]),  # two lengths that differ
], ways=WAYS)


@I.ir_module
class Language:
    """Embedding, attention as one operator, rotary tables cut at a position, argmax."""

    @R.function
    def main(tokens: R.Tensor(("batch", "seq"), "int32"), table: R.Tensor((50, 32), "float32")):
        batch = T.int64()
        seq = T.int64()
        with R.dataflow():
            x = R.take(table, R.reshape(tokens, R.shape([batch * seq])), axis=0)
            x4 = R.reshape(x, R.shape([batch, seq, 4, 8]))
            y = R.nn.attention(x4, x4, x4, causal_mask="TopLeft")
            z = R.nn.rms_norm(R.reshape(y, R.shape([batch, seq, 32])), R.ones((32,), "float32"), axes=[-1])
            logits = R.matmul(z, R.permute_dims(table))
            best = R.argmax(logits, axis=-1)
            total = R.cumsum(best, axis=1)
            out = (best, total, R.max(logits, axis=[-1]))
            R.output(out)
        return out


program("language", Language, [
    ("main", [random("ids", b, s, dtype="uint8").astype("int32"), random("table", 50, 32)]) for b, s in ((1, 1), (2, 9))
], ways=("llvm", "llvm_compiled"))


@I.ir_module
class Pieces:
    """Splits, joins, slices and broadcasts with dynamic shapes."""

    @R.function
    def main(x: R.Tensor(("n", 6), "float32"), y: R.Tensor(("m", 6), "float32")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            joined = R.concat((x, y), axis=0)
            parts = R.split(joined, 3, axis=1)
            row = R.strided_slice(joined, axes=[0], begin=[1], end=[n], strides=[1], assume_inbound=False)
            wide = R.broadcast_to(R.expand_dims(parts[1], axis=1), R.shape([n + m, 3, 2]))
            where = R.where(R.greater(joined, R.const(0.0, "float32")), joined, R.zeros((n + m, 6), "float32"))
            out = (joined, parts, row, wide, R.sum(where, axis=[0, 1]))
            R.output(out)
        return out


program("pieces", Pieces, [("main", [random("px", n, 6), random("py", m, 6)]) for n, m in ((1, 1), (4, 2), (300, 7))])
