"""Structural equality, hashes and first differences; structural keys; JSON graphs."""

import json
import sys
import unittest.mock
from typing import Any, List, Optional

import numpy as np
import tvm_ffi

sys.modules.setdefault("pytest", unittest.mock.MagicMock())  # the package's test classes import it
import tvm_ffi.testing as T
from check import fails, refuses, show
from tvm_ffi import Array, Map, Object, StructuralKey, _ffi_api
from tvm_ffi.dataclasses import IntEnum, field, py_class
from tvm_ffi.serialization import from_json_graph_str, to_json_graph_str


@py_class("dropin.Var", structural_eq="var")
class Var(Object):
    name: str = field(structural_eq="ignore")


@py_class("dropin.Add", structural_eq="tree")
class Add(Object):
    a: Any
    b: Any


@py_class("dropin.Function", structural_eq="tree")
class Function(Object):
    params: List[Var] = field(structural_eq="def")
    body: Any
    note: Optional[str] = field(default=None, structural_eq="ignore")


@py_class("dropin.Node", structural_eq="dag")
class Node(Object):
    v: Any


@py_class("dropin.Const", structural_eq="const-tree")
class Const(Object):
    v: Any


@py_class("dropin.Single", structural_eq="singleton")
class Single(Object):
    v: Any


@py_class("dropin.Hooked", structural_eq="tree")
class Hooked(Object):
    mode: int
    params: Any
    body: Any

    def __s_equal__(self, other, equal):
        if self.mode == 9:
            raise ValueError("from the hook")
        if self.mode == 8:
            return "no bool"
        if self.mode == 7:
            equal(self.params, other.params, 0, "params")
            return True
        return equal(self.params, other.params, self.mode, "params") and equal(self.body, other.body, 0, "body")

    def __s_hash__(self, start, combine):
        if self.mode == 9:
            raise ValueError("from the hook")
        return combine(self.body, combine(self.params, start, self.mode), 0)


@py_class("dropin.Silent")
class Silent(Object):
    v: Any


class Shade(IntEnum, type_key="dropin.Shade"):
    DARK = 1
    LIGHT = 2


def both(label, a, b, **options):
    """All results for a pair: equality, whether the hashes agree as required, and the first difference."""
    try:
        equal = tvm_ffi.structural_equal(a, b, **options)
        hashes = tvm_ffi.structural_hash(a, **options) == tvm_ffi.structural_hash(b, **options)
        show(label, equal, hashes if equal else None, tvm_ffi.get_first_structural_mismatch(a, b, **options))
    except Exception as e:
        show(label, type(e).__name__)


def plain():
    values = [None, True, 1, 1.0, "a", "a longer text", b"a", b"longer bytes", float("nan"), 0.0, -0.0, 2**70, [1],
              [1, 2], [1, "a"], [[1], [2]],
              {"a": 1}, {"a": 2}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {1: [1]}, tvm_ffi.List([1]),
              tvm_ffi.List([1, 2]), tvm_ffi.Dict({"a": 1}),
              tvm_ffi.Shape([1, 2]), tvm_ffi.Shape([1]), tvm_ffi.dtype("int8"), tvm_ffi.device("cpu:1"),
              [{"k": [1, {"z": 1}]}], [{"k": [1, {"z": 2}]}],
              [1, 2, 3], [], {}]
    for i, a in enumerate(values):
        for k, b in enumerate(values):
            both(f"{i} {k}", a, b)
    for v in values:
        if v != b"a":
            show("hash number", v, tvm_ffi.structural_hash(v))
    x = np.arange(6, dtype="float32").reshape(2, 3)
    y = x.copy()
    z = x + 1
    tensors = [tvm_ffi.from_dlpack(t) for t in (x, y, z, x.T.copy(), x.astype("int32"))]
    for i, a in enumerate(tensors):
        for k, b in enumerate(tensors):
            both(f"tensor {i} {k}", [a], [b])
            both(f"tensor {i} {k} shape only", [a], [b], skip_tensor_content=True)
    show("tensor hash", [tvm_ffi.structural_hash(t) for t in tensors],
         tvm_ffi.structural_hash(tensors[0], skip_tensor_content=True))
    fails("function", tvm_ffi.structural_hash, lambda: 1)


def objects():
    x, y, z = Var("x"), Var("y"), Var("z")
    both("free variables", x, y)
    both("one variable", x, x)
    both("mapped", x, y, map_free_vars=True)
    both("mapped pairs", Add(x, x), Add(y, y), map_free_vars=True)
    both("mapped wrongly", Add(x, x), Add(y, z), map_free_vars=True)
    both("mapped twice", Add(x, y), Add(z, z), map_free_vars=True)
    both("bound", Function([x], Add(x, 1)), Function([y], Add(y, 1)))
    both("bound, note", Function([x], Add(x, 1), "a"), Function([y], Add(y, 1), "b"))
    both("bound, free body", Function([x], Add(z, 1)), Function([y], Add(z, 1)))
    both("bound, other body", Function([x], Add(x, 1)), Function([y], Add(y, 2)))
    both("bound, swapped", Function([x, y], Add(x, y)), Function([x, y], Add(y, x)))
    both("bound, renamed", Function([x, y], Add(x, y)), Function([y, x], Add(y, x)))
    both("arity", Function([x], 1), Function([x, y], 1))
    both("body before", Add(x, Function([x], x)), Add(y, Function([y], y)))
    both("key variable", Function([x], Map({x: 1})), Function([y], Map({y: 1})))
    both("key variable, other", Function([x], Map({x: 1})), Function([y], Map({y: 2})))
    both("key variable, missing", Function([x], Map({x: 1})), Function([y], Map({z: 1})))
    n, m = Node(1), Node(1)
    both("dag alike", Add(n, n), Add(m, m))
    both("dag shared once", Add(n, n), Add(n, m))
    both("dag unshared", Add(Node(1), Node(1)), Add(Node(1), Node(1)))
    c = Const([1])
    both("const", c, c)
    both("const alike", Const([1]), Const([1]))
    both("const unlike", Const([1]), Const([2]))
    s = Single(1)
    both("single", s, s)
    both("singles", Single(1), Single(1))
    both("silent", Silent(1), Silent(1))
    for v in [Function([x], Add(x, 1)), Function([x, y], Add(y, x)), Add(n, n), Add(n, m), Const([1]), Shade.DARK,
              T.TestIntPair(1, 2), Single(3), Silent(1)]:
        fails("hash number", tvm_ffi.structural_hash, v)
    show("hash of a mapped variable", tvm_ffi.structural_hash(Add(x, y), map_free_vars=True))
    both("kinds", Add(1, 2), Node(1))
    both("enum", Shade.DARK, Shade.DARK)
    both("enums", Shade.DARK, Shade.LIGHT)
    both("native", T.TestIntPair(1, 2), T.TestIntPair(1, 2))
    both("native unlike", T.TestIntPair(1, 2), T.TestIntPair(1, 3))
    both("paths", tvm_ffi.access_path.AccessPath.root().attr("x"), tvm_ffi.access_path.AccessPath.root().attr("x"))
    for mode in (0, 1, 2, 7, 8, 9):
        both(f"hook {mode}", Hooked(mode, [x], Add(x, 1)), Hooked(mode, [y], Add(y, 1)))
        both(f"hook {mode} unlike", Hooked(mode, [x], Add(x, 1)), Hooked(mode, [y], Add(y, [2])))
        both(f"hook {mode} of one", [Hooked(mode, [x], {"k": x})], [Hooked(mode, [x], {"k": x})])
        both(f"hook {mode} inside", Function([x], Hooked(mode, x, 1)), Function([y], Hooked(mode, y, 1)))
    deep = 1
    for _ in range(200):
        deep = Add(deep, [deep] if isinstance(deep, int) else 0)
    both("deep", deep, deep)
    a, b = StructuralKey([1, {"a": 2}]), StructuralKey([1, {"a": 2}])
    show("keys", a == b, hash(a) == hash(b), a == StructuralKey([1]), {a: 5}[b], Map({a: 1})[b], a.key,
         Map({a: 1}).get(StructuralKey(0)))
    show("keys of one map", len(Map({StructuralKey(Function([x], x)): 1, StructuralKey(Function([y], y)): 2})))
    show("key equal", _ffi_api.StructuralKeyEqual(a, b), type(_ffi_api.StructuralKey(1)).__name__)
    fails("key of silent", StructuralKey, Silent(1))
    refuses("key of nothing", lambda: _ffi_api.StructuralKeyEqual(a, 1))
    show("interrupt", tvm_ffi.VisitInterrupt(5), tvm_ffi.VisitInterrupt("why").value)


def graphs():
    shared = Array([1])
    x = Var("x")
    values = [None, True, 0, -(2**63), 2.5, 1e300, "text", "größer \"quoted\" \\ / \n \x01 🙂", b"", b"a", b"ab",
              b"abc", b"\x00\xff\x10", [shared, shared],
              {"a": 1, 2: "b", None: None}, tvm_ffi.List([1, [2]]), tvm_ffi.Dict({"a": {"b": 1}}), tvm_ffi.Shape([]),
              tvm_ffi.Shape([1, 2]),
              tvm_ffi.dtype("float16x4"), tvm_ffi.device("cuda:3"), 2**64, -(10**60), 10**18 * 2**64, -(2**63) - 1,
              [2**63, -(2**64)], [1, True, 1.0, "1", b"1"],
              Add(1, [x, x]), Function([x], Add(x, 1), "note"), Const(Node(1)), Shade.LIGHT, [Shade.DARK, Shade.DARK],
              T.TestIntPair(1, 2),
              tvm_ffi.access_path.AccessPath.root().attr("x").array_item(2), StructuralKey(7),
              tvm_ffi.VisitInterrupt([1]), {i: i for i in range(20)}]
    for v in values:
        text = to_json_graph_str(v)
        back = from_json_graph_str(text)
        show("graph", text, back, type(back).__name__, to_json_graph_str(back) == text)
    back = from_json_graph_str(to_json_graph_str([shared, shared]))
    show("shared", back[0].same_as(back[1]))
    show("metadata", to_json_graph_str([1], {"version": "1", "list": [1, 2]}),
         json.loads(to_json_graph_str([1], {"k": 1}))["metadata"])
    show("as values", _ffi_api.ToJSONGraph([1, "a"], None), _ffi_api.FromJSONGraph(_ffi_api.ToJSONGraph([1, "a"],
        None)))
    cycle = tvm_ffi.List([])
    cycle.append(cycle)
    fails("cycle", to_json_graph_str, cycle)
    cycle.clear()
    fails("function", to_json_graph_str, lambda: 1)
    fails("tensor", to_json_graph_str, tvm_ffi.from_dlpack(np.zeros(3)))


def bad_graphs():
    def graph(*nodes, root=0):
        return json.dumps({"root_index": root, "nodes": list(nodes)})

    for text in ["", "1", "[]", "{}", '{"root_index": "a", "nodes": []}', '{"root_index": 0}',
                 '{"root_index": 0, "nodes": 1}', graph(), graph(root=-1), graph({}),
                 graph({"type": "no.Such"}), graph({"type": 1}), graph({"type": "int"}),
                 graph({"type": "int", "data": "a"}), graph({"type": "bool", "data": []}),
                 graph({"type": "ffi.String", "data": 1}), graph({"type": "ffi.Array", "data": [7]}),
                 graph({"type": "ffi.Array", "data": 1}),
                 graph({"type": "int", "data": 1}, {"type": "ffi.Map", "data": [0]}, root=1),
                 graph({"type": "ffi.Shape", "data": ["a"]}),
                 graph({"type": "Device", "data": [1]}), graph({"type": "DataType", "data": "floaty"}),
                 graph({"type": "dropin.Add", "data": {}}),
                 graph({"type": "int", "data": 1}, {"type": "dropin.Add", "data": {"a": 0}}, root=1),
                 graph({"type": "dropin.Add", "data": 1}),
                 graph({"type": "dropin.Shade", "data": 9}), graph({"type": "dropin.Shade", "data": "DARK"}),
                 graph({"type": "ffi.Function", "data": {}}),
                 graph({"type": "ffi.BigInt", "data": "12x"}), graph({"type": "ffi.BigInt", "data": ""}),
                 graph({"type": "float", "data": 1}), graph({"type": "float", "data": "x"}),
                 graph({"type": "int", "data": 5}, {"type": "dropin.Var", "data": {"name": 0}}, root=1)]:
        refuses(text, from_json_graph_str, text)


def run():
    for topic in (plain, objects, graphs, bad_graphs):
        print("==", topic.__name__)
        topic()
