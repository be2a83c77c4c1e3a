"""Programs of the ExecBuilder: bytecode that the compiler does not emit."""

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from machines import target_of
from models import add, build_for, random


class Built:
    """A program of the ExecBuilder."""

    def __init__(self, name, build, cases, named=True):
        self.name, self.build, self.cases, self.named = name, build, cases, named

    def export(self, writer, pipeline):
        def build(machine):
            builder = relax.ExecBuilder()
            self.build(builder)
            return relax.vm_build._vmlink(builder, target_of("llvm", machine))

        build_for(writer, self, None, build)


def built(name, *cases):
    def decorate(build):
        add(Built(name, build, list(cases)))

    return decorate


@tvm_ffi.register_global_func("wheelmodels.plus")
def plus(a, b):
    return a + b


@tvm_ffi.register_global_func("wheelmodels.less")
def less(a, b):
    return int(a < b)


@tvm_ffi.register_global_func("wheelmodels.apply")
def apply(f, *args):
    return f(*args)


@tvm_ffi.register_global_func("wheelmodels.count")
def count(*args):
    return len(args)


def packed(b, name):
    """A packed function as an operand."""
    b.declare_function(name)
    return b.f(name)


x, y = random("bx", 2, 3), random("by", 2, 3)


@built("operands", ("all", [x, 5, "s"]), ("many", [1]), ("unset", [0]), ("none", []), ("overwrite", [1, 2]))
def operands(b):
    """Every kind of operand, at the ends of its range; as many as there are."""
    with b.function("all", 3, ["x", "i", "s"]):
        b.emit_call("vm.builtin.make_tuple", [
            b.r(0), b.r(1), b.r(2), b.imm(0), b.imm(-1), b.imm((1 << 55) - 1), b.imm(1 - (1 << 55)), b.void_arg(),
            b.convert_constant(tvm.runtime.tensor(y)), b.convert_constant(tvm_ffi.Shape([1, 1 << 40, 0])),
            b.convert_constant(tvm_ffi.Shape([])), b.convert_constant(tvm.DataType("float16x8")),
            b.convert_constant("text \u2603"), b.convert_constant(-(1 << 62)), b.convert_constant(0.1),
        ], b.r(3))
        b.emit_call("wheelmodels.count", [b.vm_state(), b.f("all"), packed(b, "wheelmodels.count"), b.r(3)], b.r(4))
        b.emit_call("vm.builtin.make_tuple", [b.r(3), b.r(4)], b.r(3))
        b.emit_ret(b.r(3))
    with b.function("many", 1, ["i"]):
        b.emit_call("wheelmodels.count", [b.imm(i) for i in range(300)] + [b.r(0)] * 40, b.r(1))
        b.emit_ret(b.r(1))
    with b.function("unset", 1, ["i"]):
        b.emit_goto(2)
        b.emit_call("wheelmodels.count", [], b.r(5))
        b.emit_call("vm.builtin.make_tuple", [b.r(5), b.r(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("none", 0):
        b.emit_call("vm.builtin.make_tuple", [])  # the result is dropped
        b.emit_ret(b.void_arg())
    with b.function("overwrite", 2, ["a", "b"]):
        b.emit_call("wheelmodels.plus", [b.r(0), b.r(1)], b.r(0))
        b.emit_call("wheelmodels.plus", [b.r(0), b.r(0)], b.r(0))
        b.emit_ret(b.r(0))


@built("jumps", *[("sum", [n]) for n in (0, 1, 10, 1000)], *[("branch", [v]) for v in (0, 1, -1, True, False, 1 << 40)],
       ("branch", [0.5]), ("branch", ["1"]), ("branch", [None]), ("forward", []))
def jumps(b):
    """Loops of Goto and If; conditions of every type."""
    with b.function("sum", 1, ["n"]):  # 0 + 1 + … + n-1
        b.emit_call("wheelmodels.plus", [b.imm(0), b.imm(0)], b.r(1))
        b.emit_call("wheelmodels.plus", [b.imm(0), b.imm(0)], b.r(2))
        b.emit_call("wheelmodels.less", [b.r(1), b.r(0)], b.r(3))
        b.emit_if(b.r(3), 4)
        b.emit_call("wheelmodels.plus", [b.r(2), b.r(1)], b.r(2))
        b.emit_call("wheelmodels.plus", [b.r(1), b.imm(1)], b.r(1))
        b.emit_goto(-4)
        b.emit_ret(b.r(2))
    with b.function("branch", 1, ["c"]):
        b.emit_if(b.r(0), 2)
        b.emit_ret(b.r(0))
        b.emit_call("vm.builtin.make_tuple", [b.r(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("forward", 0):
        b.emit_goto(2)
        b.emit_ret(b.void_arg())
        b.emit_call("wheelmodels.plus", [b.imm(20), b.imm(22)], b.r(0))
        b.emit_ret(b.r(0))


@built("calls", ("twice", [x]), *[("depth", [n]) for n in (0, 1, 200)], ("swapped", [1, 2]), ("applied", [20]),
       ("returned", []), ("failing", []))
def calls(b):
    """Calls of functions, and functions as values: as operands and as arguments of other functions."""
    with b.function("pair", 2, ["a", "b"]):
        b.emit_call("vm.builtin.make_tuple", [b.r(0), b.r(1)], b.r(2))
        b.emit_ret(b.r(2))
    with b.function("twice", 1, ["x"]):
        b.emit_call("pair", [b.r(0), b.r(0)], b.r(1))
        b.emit_call("pair", [b.r(1), b.r(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("depth", 1, ["n"]):
        b.emit_if(b.r(0), 5)
        b.emit_call("wheelmodels.plus", [b.r(0), b.imm(-1)], b.r(1))
        b.emit_call("depth", [b.r(1)], b.r(1))
        b.emit_call("wheelmodels.plus", [b.r(1), b.imm(1)], b.r(1))
        b.emit_ret(b.r(1))
        b.emit_ret(b.r(0))
    with b.function("swapped", 2, ["a", "b"]):
        b.emit_call("vm.builtin.make_closure", [b.f("pair"), b.r(1)], b.r(2))
        b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.r(2), b.r(0)], b.r(3))
        b.emit_ret(b.r(3))
    with b.function("applied", 1, ["n"]):
        b.emit_call("wheelmodels.apply", [packed(b, "wheelmodels.plus"), b.r(0), b.imm(2)], b.r(1))
        b.emit_call("vm.builtin.invoke_closure", [
            b.vm_state(), packed(b, "wheelmodels.plus"), b.r(1), b.imm(20)], b.r(2))
        b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.f("pair"), b.r(1), b.r(2)], b.r(3))
        b.emit_ret(b.r(3))
    with b.function("returned", 0):
        b.emit_call("vm.builtin.make_tuple", [b.f("pair"), packed(b, "wheelmodels.plus")], b.r(0))
        b.emit_ret(b.r(0))
    with b.function("failing", 0):
        b.emit_call("wheelmodels.plus", [b.imm(1)], b.r(0))
        b.emit_ret(b.r(0))


@built("few_arguments", ("pair", [1, 2]), ("main", []))
def few_arguments(b):
    """A call with another number of arguments than its function has: TVM notices it when main is called."""
    with b.function("pair", 2, ["a", "b"]):
        b.emit_call("vm.builtin.make_tuple", [b.r(0), b.r(1)], b.r(2))
        b.emit_ret(b.r(2))
    with b.function("main", 0):
        b.emit_call("pair", [b.imm(1)], b.r(0))
        b.emit_ret(b.r(0))


@built("closure_values", ("curried", [1, 2, 3]), ("call", [1, 2]), ("shared", [x]), ("few", [1]), ("surplus", [1]))
def closure_values(b):
    """Closures that capture several values and closures; with wrong numbers of arguments."""
    with b.function("three", 3, ["a", "b", "c"]):
        b.emit_call("vm.builtin.make_tuple", [b.r(0), b.r(1), b.r(2)], b.r(3))
        b.emit_ret(b.r(3))
    with b.function("call", 2, ["x", "f"]):
        b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.r(1), b.r(0)], b.r(2))
        b.emit_ret(b.r(2))
    with b.function("curried", 3, ["a", "b", "c"]):
        b.emit_call("vm.builtin.make_closure", [b.f("three"), b.r(0), b.r(1)], b.r(3))
        b.emit_call("vm.builtin.make_closure", [b.f("call"), b.r(3)], b.r(4))
        b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.r(4), b.r(2)], b.r(5))
        b.emit_ret(b.r(5))
    with b.function("shared", 1, ["x"]):
        b.emit_call("vm.builtin.make_closure", [b.f("three"), b.r(0), b.r(0), b.r(0)], b.r(1))
        b.emit_call("vm.builtin.null_value", [], b.r(0))
        b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.r(1)], b.r(2))
        b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.r(1)], b.r(3))
        b.emit_call("vm.builtin.make_tuple", [b.r(0), b.r(2), b.r(3)], b.r(4))
        b.emit_ret(b.r(4))
    for name, n in (("few", 0), ("surplus", 2)):
        with b.function(name, 1, ["x"]):
            b.emit_call("vm.builtin.make_closure", [b.f("three"), b.r(0), b.r(0)], b.r(1))
            b.emit_call("vm.builtin.invoke_closure", [b.vm_state(), b.r(1)] + [b.r(0)] * n, b.r(2))
            b.emit_ret(b.r(2))


def scalars():
    for dtype in ("bool", "int8", "int32", "int64", "uint8", "uint32", "float32"):
        for v in (0, 1):
            yield "condition", [np.array(v, dtype)]
    yield "condition", [np.array([1])]
    yield "condition", [3]


@built("builtins", *scalars(), ("reset", [(x, y)]), ("copied", [x]), ("item", [(1, 2)]), ("item", [(1,)]),
       ("shape_of", [x]), ("shape_of", [np.array(1.0)]), ("shape_of", [3]), ("reshape", [x, tvm_ffi.Shape([3, 2])]),
       ("reshape", [x, tvm_ffi.Shape([3, 3])]), ("to_shape", [np.array([4, 5])]), ("to_shape", [np.zeros(0, "int64")]),
       ("to_shape", [np.array([4, 5], "int32")]), ("to_shape", [np.array([4.0])]), ("to_shape", [np.array([[1]])]),
       ("placed", [x]), ("string", ["a"]), ("string", [1]), ("null", []), ("debug", [x]),
       ("dynamic", [tvm_ffi.Shape([3, 4])]), ("dynamic", [tvm_ffi.Shape([3])]), ("dynamic", [x]))
def builtins(b):
    """Builtins with the arguments of the caller."""
    with b.function("condition", 1, ["c"]):
        b.emit_call("vm.builtin.read_if_cond", [b.r(0)], b.r(1))
        b.emit_if(b.r(1), 2)
        b.emit_ret(b.r(1))
        b.emit_call("vm.builtin.make_tuple", [b.r(1)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("reset", 1, ["t"]):
        b.emit_call("vm.builtin.tuple_reset_item", [b.r(0), b.imm(0)])
        b.emit_ret(b.r(0))
    with b.function("copied", 1, ["x"]):
        b.emit_call("vm.builtin.copy", [b.r(0)], b.r(1))
        b.emit_call("vm.builtin.ensure_zero_offset", [b.r(1)], b.r(2))
        b.emit_ret(b.r(2))
    with b.function("item", 1, ["t"]):
        b.emit_call("vm.builtin.tuple_getitem", [b.r(0), b.imm(1)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("shape_of", 1, ["x"]):
        b.emit_call("vm.builtin.shape_of", [b.r(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("reshape", 2, ["x", "s"]):
        b.emit_call("vm.builtin.reshape", [b.r(0), b.r(1)], b.r(2))
        b.emit_ret(b.r(2))
    with b.function("to_shape", 1, ["x"]):
        b.emit_call("vm.builtin.tensor_to_shape", [b.r(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("placed", 1, ["x"]):
        b.emit_call("vm.builtin.to_device", [b.r(0), b.imm(1), b.imm(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("string", 1, ["s"]):
        b.emit_call("vm.builtin.check_string_info", [b.r(0), b.convert_constant("here")])
        b.emit_ret(b.r(0))
    with b.function("null", 0):
        b.emit_call("vm.builtin.null_value", [], b.r(0))
        b.emit_ret(b.r(0))
    with b.function("dynamic", 1, ["s"]):
        b.emit_call("vm.builtin.call_tir_dyn", [packed(b, "wheelmodels.plus"), b.r(0)], b.r(1))
        b.emit_ret(b.r(1))
    with b.function("debug", 1, ["x"]):
        b.emit_call("vm.builtin.null_value", [], b.r(1))
        b.emit_call("vm.builtin.invoke_debug_func", [
            b.r(1), b.convert_constant("wheelmodels.count"), b.convert_constant("line"), b.r(0)], b.r(2))
        b.emit_ret(b.r(2))


@built("heap", *[("prims", [v]) for v in (3, 4, -1)], *[("shapes", [tvm_ffi.Shape(s)]) for s in
       ([2, 3, 7], [2, 2, 7], [2, 3], [1, 3, 7])], ("shapes", [random("h", 2, 3, 7)]), ("shapes", [4]))
def heap(b):
    """The shape heap: all codes of match_shape, match_prim_value, make_shape and make_prim_value."""
    where = "where"
    with b.function("prims", 1, ["v"]):
        b.emit_call("vm.builtin.alloc_shape_heap", [b.vm_state(), b.imm(2)], b.r(1))
        b.emit_call("vm.builtin.match_prim_value", [b.r(0), b.r(1), b.imm(1), b.imm(1), b.convert_constant(where)])
        b.emit_call("vm.builtin.match_prim_value", [b.r(0), b.r(1), b.imm(2), b.imm(0), b.convert_constant(where)])
        b.emit_call("vm.builtin.match_prim_value", [b.r(0), b.r(1), b.imm(3), b.imm(1), b.convert_constant(where)])
        b.emit_call("vm.builtin.make_prim_value", [b.r(1), b.imm(1), b.imm(1)], b.r(2))
        b.emit_call("vm.builtin.make_prim_value", [b.r(1), b.imm(0), b.imm(9)], b.r(3))
        b.emit_call("vm.builtin.match_prim_value", [b.r(2), b.r(1), b.imm(0), b.imm(3), b.convert_constant(where)])
        b.emit_call("vm.builtin.make_tuple", [b.r(2), b.r(3)], b.r(4))
        b.emit_ret(b.r(4))
    with b.function("shapes", 1, ["s"]):
        b.emit_call("vm.builtin.alloc_shape_heap", [b.vm_state(), b.imm(3)], b.r(1))
        b.emit_call("vm.builtin.match_shape", [
            b.r(0), b.r(1), b.imm(3), b.imm(1), b.imm(2), b.imm(0), b.imm(3), b.imm(2), b.imm(0),
            b.convert_constant(where)])
        b.emit_call("vm.builtin.match_shape", [
            b.r(0), b.r(1), b.imm(3), b.imm(0), b.imm(2), b.imm(2), b.imm(0), b.imm(1), b.imm(0),
            b.convert_constant(where)])
        b.emit_call("vm.builtin.match_shape", [
            b.r(0), b.r(1), b.imm(3), b.imm(3), b.imm(2), b.imm(2), b.imm(0), b.imm(3), b.imm(0),
            b.convert_constant(where)])
        b.emit_call("vm.builtin.make_shape", [
            b.r(1), b.imm(3), b.imm(1), b.imm(0), b.imm(0), b.imm(5), b.imm(1), b.imm(2)], b.r(2))
        b.emit_ret(b.r(2))


@built("storage", ("views", [x]), ("beyond", []))
def storage(b):
    """Tensors in a storage: at offsets, of different types, larger than the storage."""
    f32, u8 = b.convert_constant(tvm.DataType("float32")), b.convert_constant(tvm.DataType("uint8"))
    with b.function("views", 1, ["x"]):
        b.emit_call("vm.builtin.alloc_storage", [
            b.vm_state(), b.convert_constant(tvm_ffi.Shape([256])), b.imm(0), u8, b.convert_constant("global")], b.r(1))
        b.emit_call("vm.builtin.alloc_tensor", [
            b.r(1), b.imm(64), b.convert_constant(tvm_ffi.Shape([2, 3])), f32], b.r(2))
        b.emit_call("wheelmodels.add", [b.r(0), b.r(0), b.r(2)])
        b.emit_call("vm.builtin.alloc_tensor", [
            b.r(1), b.imm(64), b.convert_constant(tvm_ffi.Shape([24])), u8], b.r(3))
        b.emit_call("vm.builtin.null_value", [], b.r(1))
        b.emit_call("vm.builtin.make_tuple", [b.r(2), b.r(3)], b.r(4))
        b.emit_ret(b.r(4))
    with b.function("beyond", 0):
        b.emit_call("vm.builtin.alloc_storage", [
            b.vm_state(), b.convert_constant(tvm_ffi.Shape([16])), b.imm(0), u8, b.convert_constant("global")], b.r(1))
        b.emit_call("vm.builtin.alloc_tensor", [
            b.r(1), b.imm(8), b.convert_constant(tvm_ffi.Shape([1 << 30])), f32], b.r(2))
        b.emit_ret(b.r(2))


def chain(b):
    """1000 moves through tuples: what the benchmark of instructions runs."""
    with b.function("main", 1, ["x"]):
        b.emit_call("vm.builtin.make_tuple", [b.r(0)], b.r(1))
        for _ in range(500):
            b.emit_call("vm.builtin.tuple_getitem", [b.r(1), b.imm(0)], b.r(2))
            b.emit_call("vm.builtin.make_tuple", [b.r(2)], b.r(1))
        b.emit_ret(b.r(2))


built("chain", ("main", [random("bx", 4)]))(chain)
