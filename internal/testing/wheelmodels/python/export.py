"""Compiles models with Apache TVM's relax, runs them on TVM's virtual machine, and writes both to a folder.

Usage: [WHEELMODELS_MACHINE=aarch64-linux-gnu] export.py FOLDER

For each program and each way to compile it (see WAYS) the folder gets a library NAME.so. manifest.json lists them with
their functions, the builtins and instructions that they use, and cases: inputs and what TVM's machine returned for
them. Arrays are .npy files. Package wheelmodels reads all of it, and documents the fields.
"""

import json
import os
import re
import sys
import time

import ml_dtypes
import numpy as np
import tvm
import tvm_ffi
from tvm import relax

import models

def pipeline(planned):
    """The passes of relax.build, with or without memory planning."""
    t = relax.transform
    passes = [
        relax.backend.DispatchSampling(), relax.backend.DispatchSortScan(), t.LegalizeOps(),
        t.RewriteDataflowReshape(), t.ToNonDataflow(), t.RemovePurityChecking(), t.CallTIRRewrite(),
    ]
    if planned:
        passes.append(t.StaticPlanBlockMemory())
    return tvm.transform.Sequential(passes + [
        t.LowerAllocTensor(), t.KillAfterLastUse(), t.LowerRuntimeBuiltin(), t.ComputePrimValue(), t.VMShapeLower(),
        t.AttachGlobalSymbol(),
    ])


class Writer:
    """Writes the folder."""

    def __init__(self, folder):
        self.folder, self.models, self.arrays = folder, [], 0

    def value(self, x, name):
        """The JSON form of an argument or result."""
        if x is None:
            return {"none": True}
        if isinstance(x, (bool, np.bool_)):
            return {"bool": bool(x)}
        if isinstance(x, int):
            return {"int": int(x)}
        if isinstance(x, float):
            return {"float": float(x)}
        if isinstance(x, np.ndarray):
            file = f"{name}.{self.arrays}.npy"
            self.arrays += 1
            if x.dtype == ml_dtypes.bfloat16:  # np.save forgets the type
                np.save(os.path.join(self.folder, file), np.array(x, order="C").view("uint16"))
                return {"tensor": file, "typed": "bfloat16"}
            np.save(os.path.join(self.folder, file), np.array(x, order="C"))
            return {"tensor": file}
        if isinstance(x, tvm.runtime.Tensor):
            return self.value(x.numpy(), name)
        if isinstance(x, tvm_ffi.Shape):
            return {"shape": [int(n) for n in x]}
        if isinstance(x, (tvm.DataType, tvm_ffi.dtype)):
            return {"dtype": str(x)}
        if isinstance(x, str):
            return {"string": str(x)}
        if isinstance(x, (tuple, list, tvm_ffi.Array)):
            return {"tuple": [self.value(y, name) for y in x]}
        return {"object": type(x).__name__}

    def run(self, vm, name, function, args):
        """Calls a function, and returns the call as a case."""
        case = {"function": function, "inputs": [self.value(x, name) for x in args]}
        values = [argument(x) for x in args]
        try:
            case["output"] = self.value(vm[function](*values), name)
        except Exception as e:  # any error of the machine is an expected result
            case["error"] = last_line(e)
        after = {str(i): self.value(v, name) for i, (x, v) in enumerate(zip(args, values))
                 if isinstance(x, np.ndarray) and not np.array_equal(x, v.numpy(), equal_nan=x.dtype.kind == "f")}
        if after:
            case["after"] = after
        return case

    def add(self, program, way, executable, devices=None, reference=None, here=None):
        """Exports an executable and runs its cases.

        Those of the reference are run instead, if that is given: a library for the CPU. here is a library of the same
        executable for this machine, if it is for another.
        """
        name = program.name if way is None else f"{program.name}_{way}"
        path = os.path.join(self.folder, name + ".so")
        models.save(executable, path, models.MACHINE)
        library = tvm.runtime.load_module(reference or here or path)
        text = executable.as_text()
        entry = {
            "name": name, "path": name + ".so", "program": program.name, "way": way or "builder",
            "devices": devices or ["cpu"], "functions": [], "cases": [],
            **uses(text, path, library if reference is None else None),
        }
        self.models.append(entry)
        try:
            vm = relax.VirtualMachine(library, tvm.cpu())
        except Exception as e:
            entry["error"] = last_line(e)
            return path
        known = {function for function, _ in program.cases}
        for function in functions(text):
            if reference is not None and function not in known:  # the passes for the device made it
                continue
            arity = int(vm._get_function_arity(function))
            names = [str(vm._get_function_param_name(function, i)) for i in range(arity)] if program.named else []
            entry["functions"].append({"name": function, "parameters": names, "arity": arity})
        for function, args in program.cases:
            entry["cases"].append(self.run(vm, name, function, args))
        return path


def last_line(e):
    """The last line of an exception's message."""
    lines = [s.strip() for s in str(e).splitlines() if s.strip()]
    return (lines or [type(e).__name__])[-1]


def argument(x):
    """An argument as TVM's machine takes it."""
    if isinstance(x, np.ndarray):
        return tvm.runtime.tensor(x, tvm.cpu())
    if isinstance(x, tuple) and not isinstance(x, tvm_ffi.Shape):
        return tuple(argument(y) for y in x)
    return x


def functions(text):
    """The names of functions that are not packed, in the order of the text of an executable."""
    return [m[1] for m in re.finditer(r"^@(\S+?):?(?: (.*))?$", text, re.M) if "packed_func" not in (m[2] or "")]


def uses(text, path, library):
    """The builtins, instructions, kinds of operands and global functions that an executable uses."""
    called = set(re.findall(r"^@(\S+) packed_func", text, re.M))
    builtins = {n for n in called if n.startswith("vm.builtin.")}
    instructions = {i.lower() for i in re.findall(r"^  (call|ret|goto|If)\b", text, re.M)}
    operands = set()
    for line in re.findall(r"^  call .*", text, re.M):
        for word in re.split(r"in:|dst:|,", line)[1:]:
            word = word.strip()
            for form, kind in ((r"%\d", "register"), ("%vm", "context"), ("%void", "void"), ("i-?\\d", "immediate"),
                               (r"c\[", "constant"), (r"f\[", "function")):
                if re.match(form, word):
                    operands.add(kind)
    if "vm_tir_func" in text:  # the builtins are in the code
        with open(path, "rb") as f:
            builtins |= {m.decode() for m in re.findall(rb"vm\.builtin\.[a-z0-9_.]+", f.read())}
    return {
        "builtins": sorted(builtins),
        "instructions": sorted(instructions),
        "operands": sorted(operands),
        # Without the library: its kernels have names without a dot.
        "globals": sorted(n for n in called - builtins if
                          ("." in n if library is None else not library.implements_function(n, query_imports=True))),
    }


def main():
    folder, start, times = sys.argv[1], time.time(), {}
    writer = Writer(folder)
    for program in models.programs():
        begin = time.time()
        program.export(writer, pipeline)
        times[program.name] = round(time.time() - begin, 3)
    registered = [n for n in tvm_ffi.registry.list_global_func_names() if n.startswith("vm.builtin.")]
    with open(os.path.join(folder, "manifest.json"), "w") as f:
        json.dump({"version": tvm.__version__, "registered": sorted(registered), "models": writer.models,
                   "seconds": round(time.time() - start, 1), "times": times}, f, indent=1)


if __name__ == "__main__":
    main()
