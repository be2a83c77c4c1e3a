"""Exports a vector addition as objects: llvm.tar, llvm.o, and c.tar with a source."""

import os
import sys

import tvm
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def vadd(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({"global_symbol": "vadd"})
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            C[i] = A[i] + B[i]


def build(target):
    lib = tvm.compile(Module, target=target)
    return getattr(lib, "mod", lib)


os.chdir(sys.argv[1])
llvm = build("llvm")
llvm.export_library("llvm.tar")
llvm.write_to_file("llvm.o")
build("c").export_library("c.tar")
