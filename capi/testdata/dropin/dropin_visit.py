"""Structural visits and walks."""

from typing import Any, List

import tvm_ffi
from check import fails, says, show
from tvm_ffi import DefRegionKind, Object, VisitInterrupt, WalkResult, _ffi_api, structural_visit, structural_walk
from tvm_ffi.dataclasses import field, py_class


@py_class("dropin.Name", structural_eq="var")
class Name(Object):
    text: str
    kind: Any = None


@py_class("dropin.Pair", structural_eq="tree")
class Pair(Object):
    a: Any
    b: Any
    ignored: Any = field(default=None, structural_eq="ignore")


@py_class("dropin.Scope", structural_eq="tree")
class Scope(Object):
    names: List[Name] = field(structural_eq="def")
    body: Any


@py_class("dropin.Wrapped", structural_eq="tree")
class Wrapped(Object):
    inside: Any
    mode: int

    def __s_visit__(visitor, self):
        if self.mode == 1:
            return visitor.default_visit([self.inside])
        if self.mode == 2:
            return visitor.with_def_region_kind(DefRegionKind.DEF_SIMPLE, lambda: visitor.visit(self.inside))
        if self.mode == 3:
            return VisitInterrupt("from the hook")
        if self.mode == 4:
            raise KeyError("from the hook")
        if self.mode == 5:
            return 5
        return visitor.visit(self.inside)


def short(v):
    return type(v).__name__ if isinstance(v, Object) else v


def run():
    x, y = Name("x"), Name("y", [1])
    shared = Pair(1, 2)
    values = [None, 1, "a", "a longer text", b"b", [1, [2, None, 3]], {"k": 1, "l": [2]}, tvm_ffi.List([1, "a"]),
              tvm_ffi.Dict({1: 2}), Pair(1, Pair("x", [2.5]), 9),
              [shared, shared], Scope([x, y], Pair(x, y)), tvm_ffi.Shape([1, 2]), tvm_ffi.dtype("int8"), 2**70,
              Wrapped([1, 2], 0), Wrapped(7, 1), Wrapped(x, 2),
              [Wrapped(1, 3), 5], [Wrapped(1, 4), 5]]
    wrong = [Wrapped(1, 5), 5]
    for order in ("pre", "post"):
        fails("wrong hook", structural_walk, wrong, lambda n: None, order=order)
    fails("wrong hook", structural_visit, wrong, lambda n, v: v.default_visit(n))
    for i, v in enumerate(values):
        for order in ("pre", "post"):
            seen = []
            says(f"walk {i} {order}", structural_walk, v, lambda n: seen.append(short(n)), order=order)
            show("seen", seen)
            seen.clear()
            says("regions", structural_walk, v, with_def_region_kind=lambda n,
                 kind: seen.append((short(n), int(kind))), order=order)
            show("seen", seen)
        seen = []
        says(f"visit {i}", structural_visit, v, lambda n, visitor: (seen.append((short(n),
            int(visitor.def_region_kind))), visitor.default_visit(n))[1])
        show("seen", seen)
    tree = Scope([x], [Pair(1, "a"), Pair(2, [3, y]), {"k": x}])
    for order in ("pre", "post"):
        seen = []
        structural_walk(tree, [(int, lambda n: seen.append(("int", n))), (str, lambda n: seen.append(("str", n))),
                               (Pair, lambda n: seen.append(("pair", n.a))),
                               ((Name, tvm_ffi.Map), lambda n: seen.append(short(n)))], order=order)
        show("by type", seen)
        seen = []
        structural_walk(tree, (Object, lambda n: seen.append(short(n))),
                        (int, lambda n, kind: seen.append((n, int(kind)))), order=order)
        show("objects first", seen)
        seen = []
        show("skipping", structural_walk(tree, [(Pair, lambda n: seen.append(n.a) or WalkResult.SKIP),
            (int, lambda n: seen.append(n))], order=order), seen)
        seen = []
        r = structural_walk(tree, (Pair, lambda n: seen.append(n.a) or (VisitInterrupt(["found",
            n.a]) if n.a == 2 else None)), order=order)
        show("interrupted", r, r.value, seen)
        fails("wrong answer", structural_walk, tree, (Pair, lambda n: "no"), order=order)
        fails("failing", structural_walk, tree, (Pair, lambda n: n.nothing), order=order)
    show("pruned", structural_visit(tree, [(Pair, lambda n, v: None), (Name, lambda n,
        v: VisitInterrupt(n.text))]).value)
    seen = []
    structural_visit(tree, [(Pair, lambda n, v: v.visit(n.b)), (int, lambda n, v: seen.append(n)),
                            (str, lambda n, v: seen.append(n))])
    show("own descent", seen)
    kept = []
    structural_visit([1, [2]], lambda n, v: kept.append(v) or v.default_visit(n))
    show("kept visitor", len(kept), kept[0].same_as(kept[-1]), kept[0].visit([5]), len(kept))
    fails("no visitor", _ffi_api.StructuralVisitorVisit, 1, 2)
    fails("no callbacks", _ffi_api.StructuralVisit, [1], 5)
    fails("wrong callbacks", _ffi_api.StructuralVisit, [1], [(1,)])
    fails("wrong function", _ffi_api.StructuralVisit, [1], [(1, 2)])
    fails("visit answers", structural_visit, [1], lambda n, v: 5)
    fails("visit fails", structural_visit, [1], lambda n, v: 1 // 0)
    show("nothing to call", structural_visit([1, [2]]), structural_walk([1, [2]]))
