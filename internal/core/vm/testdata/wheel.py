"""Calls global functions vm.builtin.* of Apache TVM: reads [[name, args], ...] as JSON and writes one answer per line.

An answer is {"ok": result, "args": what tensors contain afterwards}, {"error": kind}, or {"crash": signal}."""

import json
import os
import sys

import numpy as np
import tvm
import tvm_ffi


def value(v):
    (kind, x), = v.items()
    if kind == "none":
        return None
    if kind == "shape":
        return tvm_ffi.Shape(x)
    if kind == "array":
        return tvm_ffi.Array([value(e) for e in x])
    if kind == "dtype":
        return tvm_ffi.dtype(x)
    if kind == "function":
        return tvm.get_global_func(x)
    if kind == "tensor":
        return tvm.runtime.tensor(np.array(x[2], dtype=x[0]).reshape(x[1]))
    return x


def text(x):
    if x is None:
        return {"none": 0}
    if isinstance(x, tvm_ffi.dtype):  # also a str
        return {"dtype": str(x)}
    if isinstance(x, bool):
        return {"bool": x}
    if isinstance(x, int):
        return {"int": x}
    if isinstance(x, float):
        return {"float": x}
    if isinstance(x, str):
        return {"str": x}
    if isinstance(x, tvm_ffi.Shape):
        return {"shape": [int(d) for d in x]}
    if isinstance(x, tvm_ffi.Array):
        return {"array": [text(e) for e in x]}
    if isinstance(x, tvm_ffi.Function):
        return {"function": ""}
    a = x.numpy()
    return {"tensor": [str(x.dtype), list(a.shape), [int(e) for e in a.flatten()]]}


def answer(name, args):
    args = [value(a) for a in args]
    try:
        result = text(tvm.get_global_func(name)(*args))
    except Exception as e:
        return {"error": type(e).__name__}
    return {"ok": result, "args": [text(a) for a in args]}


def main():
    cases = json.load(sys.stdin)
    done = 0
    while done < len(cases):  # a crash ends a child: the next one goes on behind it
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(write, "w") as out:
                for name, args in cases[done:]:
                    print(json.dumps(answer(name, args)), file=out, flush=True)
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answers:
            for line in answers:
                print(line, end="")
                done += 1
        status = os.waitpid(child, 0)[1]
        if done < len(cases):
            print(json.dumps({"crash": status & 127}))
            done += 1


main()
