"""Calls functions of executables and of their virtual machines.

Input: JSON, a list of pairs: the path of a library, and steps [module, function, argument...]. The module is "lib" or
"vm", which is what the last vm_load_executable returned. Arguments are JSON; a list is a tuple, and objects are
{"float32": [shape, element...]} and the like: a tensor; {"shape": dimensions}; {"step": i}: the result of a step;
{"global": name}. Output: a line for each step, with the result or "error".
"""

import json
import sys

import numpy as np
import tvm
import tvm_ffi

tvm_ffi.register_global_func("steps.factory", lambda *made: lambda *told: len(made))
tvm_ffi.register_global_func("steps.number", lambda *told: 0)


def argument(x, results):
    if isinstance(x, list):
        return tuple(argument(y, results) for y in x)
    if not isinstance(x, dict):
        return x
    kind, v = next(iter(x.items()))
    if kind == "shape":
        return tvm_ffi.Shape(v)
    if kind == "step":
        return results[v]
    if kind == "global":
        return tvm_ffi.get_global_func(v)
    return tvm.runtime.tensor(np.array(v[1:], kind).reshape(v[0]))


def text(x):
    if isinstance(x, tvm.runtime.Tensor):
        return f"{x.dtype}{[int(n) for n in x.shape]}{x.numpy().reshape(-1).tolist()}".replace(".0", "")
    if isinstance(x, tvm_ffi.Shape):
        return f"shape{[int(n) for n in x]}"
    if isinstance(x, (tuple, list, tvm_ffi.Array)):
        return f"({', '.join(text(y) for y in x)})"
    if x is None or isinstance(x, (bool, int, float, str)):
        return json.dumps(x)
    return "object"


for library, steps in json.load(sys.stdin):
    modules, results = {"lib": tvm.runtime.load_module(library)}, []
    for module, function, *args in steps:
        result, answer = None, "error"
        try:
            result = modules[module][function](*[argument(x, results) for x in args])
            answer = text(result)
            if function == "vm_load_executable":
                modules["vm"] = result
        except Exception:  # what Apache TVM says is not compared
            pass
        results.append(result)
        print(json.dumps(answer))
