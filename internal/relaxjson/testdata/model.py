"""A Relax module, saved as JSON: python model.py FILE. Works with wheels of TVM 0.17, 0.25 and 0.27."""
import sys

import numpy as np
import tvm
from tvm import relax, te

NEW = hasattr(tvm, "tirx")
LAST = tvm.__version__ >= "0.27"
tir = tvm.tirx if NEW else tvm.tir
tensor = relax.TensorType if LAST else relax.TensorStructInfo


def compute(a):
    return te.compute(a.shape, lambda i: a[i] + 1.0)


n = tir.Var("n", "int64")
bb = relax.BlockBuilder()
x = relax.Var("x", tensor([n, 8], "float32"))
with bb.function("main", [x]):
    with bb.dataflow():
        y = bb.emit(relax.op.matmul(x, relax.const(np.arange(32).reshape(8, 4).astype("float32"))))
        z = bb.emit(relax.op.nn.softmax(y, axis=-1))
        s = bb.emit(relax.op.split(z, 2, axis=1))
        t = bb.emit(relax.TupleGetItem(s, 0))
        u = bb.emit(relax.op.reshape(t, relax.ShapeExpr([n * 2])))
        v = bb.emit(relax.op.sum(u, axis=[0], keepdims=True))
        w = bb.emit_te(compute, u)
        o = bb.emit_output(relax.op.astype(relax.op.add(w, v), "float16"))
        p = bb.emit_output(z)
    bb.emit_func_output(relax.Tuple([o, p]))
m = tir.Var("m", "int64")
a = relax.Var("a", tensor(dtype="float32", ndim=1))
with bb.function("checked", [a]):
    b = bb.match_cast(a, tensor([m], "float32"))
    hint = (tvm.ir.StringImm if LAST else relax.StringImm)("hint")
    c = bb.emit(relax.Call(relax.ExternFunc("my.function"), [b, hint], None, [tensor([m], "float32")]))
    bb.emit_func_output(c)
with open(sys.argv[1], "w") as f:
    f.write(tvm.ir.save_json(bb.get()))
