"""Programs of TVM's TIR, saved as JSON with inputs and with the results that TVM computes.

    python programs.py FOLDER [NAME...]

For each program it writes NAME.json (tvm.ir.save_json), NAME.npz (in0, in1, …; out0, …) and a line of manifest.json:
the function's parameters. Works with wheels of TVM 0.16 (node graphs with "type_key") and of 0.27.
"""
import json
import os
import sys

import numpy as np
import tvm
import tvm.script
from tvm import te

NEW = hasattr(tvm, "tirx")
tir = tvm.tirx if NEW else tvm.tir
Schedule = tvm.s_tir.Schedule if NEW else tvm.tir.Schedule
PROGRAMS = {}


def dlight():
    if NEW:
        from tvm.s_tir import dlight as dl
    else:
        from tvm import dlight as dl
    return dl


def parse(text):
    """Parses TVMScript in the spelling of TVM up to 0.20."""
    from tvm.script import ir as I
    T = __import__("tvm.script", fromlist=["tirx" if NEW else "tir"])
    T = T.tirx if NEW else T.tir
    if NEW:
        for old, new in (("T.block(", "T.sblock("), ("T.alloc_buffer(", "T.sblock_alloc_buffer("),
                         ("T.block_attr(", "T.sblock_attr("), ("@T.prim_func", "@T.prim_func(s_tir=True)")):
            text = text.replace(old, new)
    mod = tvm.script.from_source(text, {"I": I, "T": T})
    return mod if isinstance(mod, tvm.IRModule) else tvm.IRModule({"main": mod})


def block(sch, name):
    return sch.get_sblock(name) if NEW else sch.get_block(name)


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def gpu_target():
    return tvm.target.Target({"kind": "opencl", "max_num_threads": 256, "max_threads_per_block": 256,
                              "max_shared_memory_per_block": 32768, "thread_warp_size": 1})


def scheduled(mod, *steps):
    sch = Schedule(mod)
    for s in steps:
        s(sch)
    return sch.mod, mod


# Each program returns the module that is saved, and, where TVM cannot run that on a CPU, one that has the same results.

MATMUL = """
@T.prim_func
def main(A: T.Buffer((48, 40), "float32"), B: T.Buffer((40, 64), "float32"), C: T.Buffer((48, 64), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for i, j, k in T.grid(48, 64, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@program
def matmul():
    return parse(MATMUL), None


@program
def matmul_tiled():
    def s(sch):
        c = block(sch, "C")
        i, j, k = sch.get_loops(c)
        i0, i1 = sch.split(i, [None, 8])
        j0, j1 = sch.split(j, [None, 16])
        k0, k1 = sch.split(k, [None, 4])
        sch.reorder(i0, j0, k0, i1, k1, j1)
        sch.parallel(i0)
        sch.vectorize(j1)
        sch.unroll(k1)
        sch.decompose_reduction(c, k0)
    return scheduled(parse(MATMUL), s)


@program
def matmul_odd_tiles():
    """Splits that do not divide: predicates."""
    def s(sch):
        c = block(sch, "C")
        i, j, k = sch.get_loops(c)
        i0, i1 = sch.split(i, [None, 7])
        k0, k1 = sch.split(k, [None, 6])
        j0, j1 = sch.split(j, [5, None])
        sch.reorder(k0, i0, j0, k1, i1, j1)
    return scheduled(parse(MATMUL), s)


@program
def matmul_cache_write():
    def s(sch):
        c = block(sch, "C")
        w = sch.cache_write(c, 0, "local")
        i, j, k = sch.get_loops(c)
        i0, i1 = sch.split(i, [None, 4])
        j0, j1 = sch.split(j, [None, 8])
        sch.reorder(i0, j0, k, i1, j1)
        sch.reverse_compute_at(w, j0)
        a = sch.cache_read(c, 0, "global")
        sch.compute_at(a, k)
        sch.decompose_reduction(c, k)
    return scheduled(parse(MATMUL), s)


@program
def rfactor():
    mod = parse("""
@T.prim_func
def main(A: T.Buffer((12, 96), "float32"), B: T.Buffer((12,), "float32")):
    for i, k in T.grid(12, 96):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(B[vi], A[vi, vk])
""")
    def s(sch):
        i, k = sch.get_loops(block(sch, "B"))
        k0, k1 = sch.split(k, [None, 16])
        sch.rfactor(k1, 0)
    return scheduled(mod, s)


@program
def compute_at():
    mod = parse("""
@T.prim_func
def main(A: T.Buffer((34, 34), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.alloc_buffer((34, 34), "float32")
    for i, j in T.grid(34, 34):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj] * T.float32(0.1))
    for i, j, p, q in T.grid(32, 32, 3, 3):
        with T.block("C"):
            vi, vj, vp, vq = T.axis.remap("SSRR", [i, j, p, q])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += B[vi + vp, vj + vq] / T.float32(9)
""")
    def s(sch):
        i = sch.get_loops(block(sch, "C"))[0]
        i0, i1 = sch.split(i, [None, 5])
        sch.compute_at(block(sch, "B"), i0)
        sch.parallel(i0)
    return scheduled(mod, s)


@program
def te_softmax():
    a = te.placeholder((6, 50), "float32", name="A")
    k, k2 = te.reduce_axis((0, 50), "k"), te.reduce_axis((0, 50), "k2")
    m = te.compute((6,), lambda i: te.max(a[i, k], axis=k), name="m")
    e = te.compute((6, 50), lambda i, j: te.exp(a[i, j] - m[i]), name="e")
    s = te.compute((6,), lambda i: te.sum(e[i, k2], axis=k2), name="s")
    b = te.compute((6, 50), lambda i, j: e[i, j] / s[i], name="b")
    return tvm.IRModule({"main": te.create_prim_func([a, b])}), None


@program
def te_conv():
    a = te.placeholder((1, 3, 12, 12), "float32", name="A")
    w = te.placeholder((4, 3, 3, 3), "float32", name="W")
    pad = te.compute((1, 3, 14, 14), lambda n, c, y, x: tir.if_then_else(
        tir.all(y >= 1, y < 13, x >= 1, x < 13), a[n, c, y - 1, x - 1], tir.const(0.0, "float32")), name="pad")
    rc, ry, rx = te.reduce_axis((0, 3), "rc"), te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    c = te.compute((1, 4, 12, 12), lambda n, f, y, x: te.sum(pad[n, rc, y + ry, x + rx] * w[f, rc, ry, rx],
                                                             axis=[rc, ry, rx]), name="conv")
    r = te.compute((1, 4, 12, 12), lambda *i: te.max(c(*i), axis=[]) if False else tir.max(c(*i), tir.const(
        0.0, "float32")), name="relu")
    return tvm.IRModule({"main": te.create_prim_func([a, w, r])}), None


@program
def te_argmax():
    a = te.placeholder((9, 31), "float32", name="A")
    index = te.placeholder((9, 31), "int32", name="I")
    k = te.reduce_axis((0, 31), "k")
    red = te.comm_reducer(
        lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tir.const(-1, t0), tvm.te.min_value(t1)), name="argmax")
    out = te.compute((9,), lambda i: red((index[i, k], a[i, k]), axis=k), name="argmax")
    return tvm.IRModule({"main": te.create_prim_func([a, index, out[0], out[1]])}), None


@program
def dynamic_sizes():
    return parse("""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (m, n), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj] + T.Cast("float32", vi * m + vj)
"""), None


dynamic_sizes.shapes = [(7, 5), (5, 7)]


@program
def integers():
    """Divisions, shifts, bits, and integer types."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int64"),
         D: T.Buffer((64,), "uint8")):
    for i in range(64):
        with T.block("x"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.truncdiv(A[vi], 7) + T.truncmod(A[vi], 5) * 100 + T.floordiv(A[vi], -3) + T.floormod(A[vi], 9)
            C[vi] = T.Cast("int64", T.bitwise_xor(A[vi], T.shift_left(A[vi], 3))) * T.int64(4294967296) + T.Cast(
                "int64", T.shift_right(A[vi], 2))
            D[vi] = T.Cast("uint8", T.bitwise_and(T.bitwise_or(A[vi], 16), 255))
"""), None


@program
def functions():
    """Intrinsics of floats."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((40,), "float32"), B: T.Buffer((40,), "float32"), C: T.Buffer((40,), "float32")):
    for i in range(40):
        with T.block("x"):
            vi = T.axis.spatial(40, i)
            B[vi] = T.exp(A[vi]) + T.log(T.abs(A[vi]) + T.float32(1)) * T.tanh(A[vi]) - T.sigmoid(A[vi]) + T.erf(A[vi])
            C[vi] = T.if_then_else(A[vi] > T.float32(0), T.sqrt(T.fabs(A[vi])), T.floor(A[vi]) + T.ceil(A[vi])) + (
                T.Select(T.isnan(A[vi]), T.float32(1), T.pow(T.fabs(A[vi]), T.float32(1.5))))
"""), None


@program
def statements():
    """Conditions, while, let, assertions, and loops that do not start at 0."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in T.serial(2, 16):
        x: T.int32 = A[i] * 2
        assert x >= -1000000, "x is too small"
        if x > 10 and i != 5:
            B[i] = x
        else:
            if i % 2 == 0:
                B[i] = -x
            else:
                B[i] = (x + 1) * (x + 1)
    B[0] = 1
    B[1] = A[0]
    while B[1] > 2:
        B[1] = B[1] // 2
        B[0] = B[0] + 1
"""), None


@program
def vectors():
    return parse("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(16):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(2), 4) + A[T.Ramp(63 - i * 4, -1, 4)]
"""), None


@program
def match_buffers():
    """Views of parts of a buffer."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    for i, j in T.grid(4, 8):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 8:vi * 8 + 8, vj * 4:vj * 4 + 4])
            T.writes(B[vi * 8:vi * 8 + 8, vj * 4:vj * 4 + 4])
            a = T.match_buffer(A[vi * 8:vi * 8 + 8, vj * 4:vj * 4 + 4], (8, 4), "float32", strides=[32, 1],
                               offset_factor=1)
            b = T.match_buffer(B[vi * 8:vi * 8 + 8, vj * 4:vj * 4 + 4], (8, 4), "float32", strides=[32, 1],
                               offset_factor=1)
            for p, q in T.grid(8, 4):
                with T.block("element"):
                    vp, vq = T.axis.remap("SS", [p, q])
                    b[vp, vq] = a[7 - vp, vq] * T.float32(3)
"""), None


@program
def strided():
    """Parameters with strides and an offset."""
    return parse("""
@T.prim_func
def main(a: T.handle, B: T.Buffer((8, 8), "float32")):
    A = T.match_buffer(a, (8, 8), "float32", strides=[8, 1], elem_offset=0)
    for i, j in T.grid(8, 8):
        with T.block("x"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + T.float32(1)
"""), None


@program
def nested_blocks():
    """Blocks in blocks, memory of an inner block, a reduction over part of a loop."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        with T.block("outer"):
            vi = T.axis.spatial(4, i)
            t = T.alloc_buffer((4, 16), "float32")
            for p, q in T.grid(4, 16):
                with T.block("copy"):
                    vp, vq = T.axis.remap("SS", [p, q])
                    t[vp, vq] = A[vi * 4 + vp, vq] * T.float32(2)
            for p, q in T.grid(4, 16):
                with T.block("sum"):
                    vp, vq = T.axis.remap("SR", [p, q])
                    with T.init():
                        B[vi * 4 + vp] = T.float32(1)
                    B[vi * 4 + vp] = B[vi * 4 + vp] + t[vp, vq]
"""), None


@program
def running_sum():
    """Memory that is kept from one iteration to the next."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((24,), "float32"), B: T.Buffer((24,), "float32")):
    t = T.alloc_buffer((1,), "float32")
    for i in range(24):
        with T.block("sum"):
            vi = T.axis.opaque(24, i)
            T.reads(A[vi], t[0])
            T.writes(B[vi], t[0])
            if vi == 0:
                t[0] = T.float32(0)
            t[0] = t[0] + A[vi]
            B[vi] = t[0]
"""), None


@program
def float16():
    return parse("""
@T.prim_func
def main(A: T.Buffer((32,), "float16"), B: T.Buffer((32,), "float16"), C: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("x"):
            vi = T.axis.spatial(32, i)
            B[vi] = A[vi] * T.float16(1.5) + T.float16(0.25)
            C[vi] = T.Cast("float32", A[vi]) * T.float32(3)
"""), None


@program
def booleans():
    return parse("""
@T.prim_func
def main(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "bool"), C: T.Buffer((32,), "int8")):
    for i in range(32):
        with T.block("x"):
            vi = T.axis.spatial(32, i)
            B[vi] = (A[vi] > T.float32(0) or A[vi] < T.float32(-0.5)) and not A[vi] == T.float32(0.25)
            C[vi] = T.Cast("int8", A[vi] >= T.float32(0))
"""), None


@program
def two_functions():
    return parse("""
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in range(8):
            with T.block("x"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)
    @T.prim_func
    def other(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "other"})
        for i in range(8):
            with T.block("x"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] - T.float32(1)
"""), None


@program
def scalar_argument():
    return parse("""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32, x: T.float32, B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("x"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.if_then_else(vi < n, A[vi] * x, T.float32(0))
"""), None


scalar_argument.scalars = {1: 5, 2: 2.5}


@program
def int64_sizes():
    return parse("""
@T.prim_func
def main(A: T.Buffer((T.int64(6), T.int64(10)), "float32"), B: T.Buffer((T.int64(60),), "float32")):
    for i in T.serial(T.int64(60)):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(60), i)
            B[vi] = A[vi // T.int64(10), vi % T.int64(10)] * T.float32(2)
"""), None


@program
def lets_and_views():
    """A let expression, and a second buffer over the memory of another one."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    V = T.decl_buffer((8, 8), "float32", data=A.data)
    for i, j in T.grid(8, 8):
        x = T.meta_var(V[i, j])
        B[j * 8 + i] = V[i, j] * T.float32(3) + x
"""), None


@program
def extern_value():
    return parse("""
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.call_extern("float32", "fabsf", A[vi]) + T.call_pure_extern("float32", "sqrtf", T.float32(4))
"""), None


@program
def extern_memory():
    """A C function gets addresses of a region that a block matches."""
    return parse("""
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    t = T.alloc_buffer((8, 16), "float32")
    for i in range(8):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:16])
            T.writes(t[vi, 0:16])
            a = T.match_buffer(A[vi, 0:16], (16,), "float32", offset_factor=1)
            b = T.match_buffer(t[vi, 0:16], (16,), "float32", offset_factor=1)
            T.evaluate(T.call_extern("int32", "memcmp", a.access_ptr("r"), a.access_ptr("r"), 64))
            T.evaluate(T.call_extern("handle", "memcpy", b.access_ptr("w"), a.access_ptr("r"), 64))
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = t[vi, vj] + T.float32(1)
"""), None


@program
def padded():
    """A transformed layout with padding."""
    def s(sch):
        c = block(sch, "C")
        sch.transform_layout(c, ("write", 0), lambda i, j: (i // 5, j, i % 5), pad_value=None)
    return scheduled(parse("""
@T.prim_func
def main(A: T.Buffer((20, 12), "float32"), D: T.Buffer((20, 12), "float32")):
    C = T.alloc_buffer((20, 12), "float32")
    for i, j in T.grid(20, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(20, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, 11 - vj]
"""), s)


@program
def read_write_in_place():
    """Stencil over rows with a cache that rolls."""
    def s(sch):
        b, c = block(sch, "B"), block(sch, "C")
        i, j = sch.get_loops(c)[:2]
        i0, i1 = sch.split(i, [None, 4])
        sch.compute_at(b, i1)
        sch.storage_align(b, 0, 0, 32, 1)
        sch.annotate(i0, "pragma_auto_unroll_max_step", 16)
    return scheduled(parse("""
@T.prim_func
def main(A: T.Buffer((18, 12), "float32"), C: T.Buffer((16, 12), "float32")):
    B = T.alloc_buffer((18, 12), "float32")
    for i, j in T.grid(18, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * A[vi, vj]
    for i, j in T.grid(16, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] - B[vi + 2, vj]
"""), s)


def passes(*names):
    module = tvm.s_tir.transform if NEW else tvm.tir.transform
    return tvm.ir.transform.Sequential([getattr(module, n)() for n in names])


OPAQUE = ["LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque",
          "CompactBufferAllocation", "LowerMatchBuffer"]


@program
def lowered_to_blocks():
    return passes(*OPAQUE)(matmul_cache_write()[0]), parse(MATMUL)


@program
def lowered_to_loops():
    """Without blocks: allocations, and buffers of one dimension."""
    mod = passes(*OPAQUE, "LowerOpaqueBlock")(matmul_cache_write()[0])
    flatten = tvm.tirx.transform.FlattenBuffer() if NEW else tvm.tir.transform.FlattenBuffer()
    return flatten(mod), parse(MATMUL)


# Programs for GPUs.

@program
def gpu_bound():
    def s(sch):
        x = sch.fuse(*sch.get_loops(block(sch, "B")))
        b, t = sch.split(x, [None, 64])
        sch.bind(b, "blockIdx.x")
        sch.bind(t, "threadIdx.x")
    return scheduled(parse("""
@T.prim_func
def main(A: T.Buffer((30, 30), "float32"), B: T.Buffer((30, 30), "float32")):
    for i, j in T.grid(30, 30):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * T.float32(2)
"""), s)


@program
def gpu_shared_matmul():
    def s(sch):
        c = block(sch, "C")
        w = sch.cache_write(c, 0, "local")
        i, j, k = sch.get_loops(c)
        bi, ti, ei = sch.split(i, [None, 4, 2])
        bj, tj, ej = sch.split(j, [None, 8, 2])
        k0, k1 = sch.split(k, [None, 8])
        sch.reorder(bi, bj, ti, tj, k0, k1, ei, ej)
        for loop, name in ((bi, "blockIdx.y"), (bj, "blockIdx.x"), (ti, "threadIdx.y"), (tj, "threadIdx.x")):
            sch.bind(loop, name)
        sch.reverse_compute_at(w, tj)
        for n in (0, 1):
            a = sch.cache_read(c, n, "shared")
            sch.compute_at(a, k0)
            x = sch.fuse(*sch.get_loops(a)[-2:])
            _, p, q = sch.split(x, [None, 4, 8])
            sch.bind(p, "threadIdx.y")
            sch.bind(q, "threadIdx.x")
        sch.decompose_reduction(c, k0)
    return scheduled(parse(MATMUL), s)


@program
def gpu_threads_reduce():
    """Threads that compute a sum together."""
    def s(sch):
        i, k = sch.get_loops(block(sch, "B"))
        k0, k1 = sch.split(k, [None, 32])
        sch.bind(i, "blockIdx.x")
        sch.bind(k1, "threadIdx.x")
    return scheduled(parse("""
@T.prim_func
def main(A: T.Buffer((12, 100), "float32"), B: T.Buffer((12,), "float32")):
    for i, k in T.grid(12, 100):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""), s)


@program
def gpu_lowered_to_loops():
    """Loops over threads as attributes."""
    mod = passes(*OPAQUE, "UnifyThreadBinding", "LowerOpaqueBlock")(gpu_shared_matmul()[0])
    return mod, parse(MATMUL)


@program
def gpu_vthread():
    def s(sch):
        i, j = sch.get_loops(block(sch, "B"))
        i0, i1, i2 = sch.split(i, [None, 2, 4])
        sch.bind(i0, "blockIdx.x")
        sch.bind(i1, "vthread.x")
        sch.bind(i2, "threadIdx.x")
        sch.vectorize(sch.split(j, [None, 4])[1])
    return scheduled(parse("""
@T.prim_func
def main(A: T.Buffer((32, 16), "float32"), B: T.Buffer((32, 16), "float32")):
    for i, j in T.grid(32, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(2)
"""), s)


@program
def gpu_dynamic():
    def s(sch):
        x = sch.fuse(*sch.get_loops(block(sch, "B")))
        b, t = sch.split(x, [None, 32])
        sch.bind(b, "blockIdx.x")
        sch.bind(t, "threadIdx.x")
    mod, _ = dynamic_sizes()
    return scheduled(mod, s)


gpu_dynamic.shapes = [(7, 5), (5, 7)]


@program
def gpu_reduce_in_steps():
    """Threads that compute a maximum together, two rows at a time."""
    def s(sch):
        i, k = sch.get_loops(block(sch, "B"))
        i0, i1 = sch.split(i, [None, 2])
        k0, k1 = sch.split(k, [None, 24])
        sch.bind(i0, "blockIdx.x")
        sch.bind(i1, "threadIdx.y")
        sch.bind(k1, "threadIdx.x")
    return scheduled(parse("""
@T.prim_func
def main(A: T.Buffer((11, 70), "float32"), B: T.Buffer((11,), "float32")):
    for i, k in T.grid(11, 70):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(B[vi], A[vi, vk])
"""), s)


@program
def gpu_argmax():
    def s(sch):
        b = block(sch, "argmax")
        i, k = sch.get_loops(b)
        k0, k1 = sch.split(k, [None, 8])
        sch.bind(i, "blockIdx.x")
        sch.bind(k1, "threadIdx.x")
    return scheduled(te_argmax()[0], s)


def dlight_program(make, rules):
    dl = dlight()
    with gpu_target():
        return dl.ApplyDefaultSchedule(*(getattr(dl.gpu, r)() for r in rules))(make()), make()


@program
def dlight_fallback():
    return dlight_program(lambda: te_conv()[0], ["Fallback"])


@program
def dlight_matmul():
    return dlight_program(lambda: parse(MATMUL), ["Matmul"])


@program
def dlight_softmax():
    return dlight_program(lambda: te_softmax()[0], ["GeneralReduction"])


@program
def dlight_reduction():
    a = te.placeholder((20, 130), "float32", name="A")
    k = te.reduce_axis((0, 130), "k")
    b = te.compute((20,), lambda i: te.sum(a[i, k] * a[i, k], axis=k), name="b")
    c = te.compute((20,), lambda i: te.sqrt(b[i]), name="c")
    return dlight_program(lambda: tvm.IRModule({"main": te.create_prim_func([a, c])}), ["Reduction"])


@program
def dlight_gemv():
    a = te.placeholder((64, 128), "float16", name="A")
    x = te.placeholder((128,), "float16", name="x")
    k = te.reduce_axis((0, 128), "k")
    y = te.compute((64,), lambda i: te.sum(a[i, k].astype("float32") * x[k].astype("float32"), axis=k), name="y")
    return dlight_program(lambda: tvm.IRModule({"main": te.create_prim_func([a, x, y])}), ["GEMV", "Fallback"])


@program
def dlight_layer_norm():
    a = te.placeholder((6, 200), "float32", name="A")
    k = te.reduce_axis((0, 200), "k")
    red = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] + y[1]), lambda t0, t1: (tir.const(0, t0), tir.const(0, t1)),
                          name="sums")
    s = te.compute((6,), lambda i: red((a[i, k], a[i, k] * a[i, k]), axis=k), name="sums")
    b = te.compute((6, 200), lambda i, j: (a[i, j] - s[0][i] / 200.0) / te.sqrt(
        s[1][i] / 200.0 - s[0][i] / 200.0 * (s[0][i] / 200.0) + 1e-5), name="b")
    return dlight_program(lambda: tvm.IRModule({"main": te.create_prim_func([a, b])}), ["GeneralReduction"])


@program
def dlight_transpose():
    return dlight_program(lambda: parse("""
@T.prim_func
def main(A: T.Buffer((70, 40), "float32"), B: T.Buffer((40, 70), "float32")):
    for i, j in T.grid(40, 70):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""), ["Transpose"])


def parameters(f, main):
    """The type and shape of each parameter; scalars have no shape."""
    out = []
    shapes = list(getattr(f, "shapes", []))
    for p in main.params:
        b = None
        if not NEW and p in main.buffer_map:
            b = main.buffer_map[p]
        elif NEW and hasattr(p.ty, "shape"):
            b = p.ty
        if b is None:
            out.append((str(p.ty.dtype if NEW else p.dtype), None))
            continue
        dims = shapes.pop(0) if shapes else [int(x) for x in b.shape]
        dtype = b.dtype
        out.append((str(getattr(dtype, "dtype", dtype)), list(dims)))
    return out


def arguments(f, params, rng):
    args = []
    for i, (dtype, shape) in enumerate(params):
        if shape is None:
            args.append(getattr(f, "scalars")[i])
        elif dtype.startswith(("int", "uint")):
            args.append(rng.integers(0 if dtype[0] == "u" else -100, 100, shape).astype(dtype))
        else:
            args.append(rng.standard_normal(shape).astype(dtype))
    return args


def run(mod, args):
    if NEW:
        f = tvm.compile(mod, target="llvm")["main"]
        make = tvm.runtime.tensor
    else:
        f = tvm.build(mod, target="llvm")["main"]
        make = tvm.nd.array
    held = [make(a) if isinstance(a, np.ndarray) else a for a in args]
    f(*held)
    return [h.numpy() if isinstance(a, np.ndarray) else None for h, a in zip(held, args)]


def main():
    folder, only = sys.argv[1], sys.argv[2:]
    manifest = {}
    for name, f in PROGRAMS.items():
        if only and name not in only:
            continue
        mod, reference = f()
        with open(f"{folder}/{name}.json", "w") as out:
            out.write(tvm.ir.save_json(mod))
        reference = reference or mod
        if os.environ.get("ONLY_JSON"):
            continue
        params = parameters(f, reference["main"])
        args = arguments(f, params, np.random.default_rng(1))
        results = run(reference, args)
        rows = []
        for i, (a, r, (dtype, shape)) in enumerate(zip(args, results, params)):
            row = {"dtype": dtype, "shape": shape}
            if shape is None:
                row["value"] = a
            else:
                a.tofile(f"{folder}/{name}.{i}.in")
                r.astype(a.dtype).tofile(f"{folder}/{name}.{i}.out")
                row["writes"] = bool(r.tobytes() != a.tobytes())
            rows.append(row)
        manifest[name] = rows
    with open(f"{folder}/manifest.json", "w") as out:
        json.dump({"version": tvm.__version__, "programs": manifest}, out, indent=1)


main()
