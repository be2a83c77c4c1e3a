"""Exports kernels for a machine: export_machine.py FOLDER MACHINE, such as aarch64-linux-gnu; llvm.so and c.so."""

import os
import sys

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../internal/testing/wheelmodels/python"))

from machines import HERE, linker, target_of


@I.ir_module
class Module:
    @T.prim_func
    def scale(a: T.handle, k: T.float32, c: T.handle):
        T.func_attr({"global_symbol": "scale"})
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            C[i] = T.exp(A[i]) * k + T.float32(1)

    @T.prim_func
    def product(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"global_symbol": "product"})
        n = T.int32()
        m = T.int32()
        A = T.match_buffer(a, (n, m), "int32")
        B = T.match_buffer(b, (m, n), "int32")
        C = T.match_buffer(c, (n, n), "int32")
        for i in T.parallel(n):
            for j in range(n):
                C[i, j] = 0
                for k in range(m):
                    C[i, j] = C[i, j] + A[i, k] * B[k, j]


def main():
    folder, machine = sys.argv[1:]
    link = None if machine == HERE else linker(machine)
    for name in ("llvm", "c"):
        lib = tvm.compile(Module, target=target_of(name, machine))
        getattr(lib, "mod", lib).export_library(f"{folder}/{name}.so", fcompile=link, options=["-lm"])


main()
