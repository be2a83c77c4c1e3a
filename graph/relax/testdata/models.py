"""Relax modules, saved as JSON with inputs and with the results that TVM computes.

    python models.py FOLDER [NAME...]

For each module it writes NAME.json (tvm.ir.save_json) and NAME.io.json: the arguments of the function main, and its
results, which may be tuples in tuples, as one list. With ONLY_JSON=1 nothing is executed. Works with wheels of TVM
0.17, 0.25 and 0.27; modules with operators that a version lacks are left out.
"""
import base64
import json
import os
import sys
import zlib

import numpy as np
import tvm
from tvm import relax

import networks  # noqa: F401
import operators  # noqa: F401
import shapes  # noqa: F401
from helpers import CASES, LAST, NEW, REFERENCES, TensorType, tir


def make(name):
    build, inputs, sizes, simple = CASES[name]
    bb = relax.BlockBuilder()
    symbols = {}

    def size(d):
        if isinstance(d, str):
            return symbols.setdefault(d, tir.Var(d, "int64"))
        return d

    if not simple:
        return build(bb, size, *inputs) if build.__name__ == "whole" else build(bb, size)
    params = [relax.Var(f"p{i}", TensorType([size(d) for d in x.shape], x.dtype)) for i, x in enumerate(inputs)]
    with bb.function("main", params):
        with bb.dataflow():
            bb.size = size
            out = build(bb, *params)
            out = bb.emit_output(out)
        bb.emit_func_output(out)
    return bb.get()


def flat(value):
    if hasattr(value, "numpy"):
        return [value.numpy()]
    if isinstance(value, np.ndarray):
        return [value]
    if hasattr(value, "shape") and not hasattr(value, "__len__"):
        return [np.array(list(value.shape))]
    if type(value).__name__ in ("Shape", "ShapeTuple"):
        return [np.array(list(value), "int64")]
    out = []
    for v in value:
        out += flat(v)
    return out


def encoded(a):
    return {"DType": str(a.dtype), "Shape": list(a.shape), "Data": base64.b64encode(a.tobytes()).decode()}


def arguments(name):
    _, inputs, sizes, _ = CASES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [x.value(rng, sizes) for x in inputs]


def execute(name, mod):
    args = arguments(name)
    if name in REFERENCES:
        return {"Inputs": [encoded(a) for a in args], "Outputs": [encoded(a) for a in flat(REFERENCES[name](*args))]}
    exe = (tvm.compile if LAST else relax.build)(mod, target="llvm")
    vm = relax.VirtualMachine(exe, tvm.cpu())
    tensor = tvm.runtime.tensor if NEW else tvm.nd.array
    return {"Inputs": [encoded(a) for a in args], "Outputs": [encoded(a) for a in flat(vm["main"](*map(tensor, args)))]}


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(CASES)
    os.makedirs(folder, exist_ok=True)
    failed = []
    for name in names:
        try:
            mod = make(name)
        except Exception as e:  # noqa: BLE001
            if LAST:
                failed.append(f"{name}: {type(e).__name__}: {e}")
            else:
                print(f"{name}: not in {tvm.__version__}: {e}".split("\n")[0], file=sys.stderr)
            continue
        with open(os.path.join(folder, name + ".json"), "w") as f:
            f.write(tvm.ir.save_json(mod))
        if os.environ.get("ONLY_JSON"):
            continue
        try:
            io = execute(name, mod)
        except Exception as e:  # noqa: BLE001
            failed.append(f"{name}: {type(e).__name__}: {str(e)[-600:]}")
            os.remove(os.path.join(folder, name + ".json"))
            continue
        with open(os.path.join(folder, name + ".io.json"), "w") as f:
            json.dump(io, f)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
