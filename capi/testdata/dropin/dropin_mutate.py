"""Structural maps and mutations, in place or not, and the location of errors in visits."""

from typing import Any, List

import tvm_ffi
from check import fails, show
from tvm_ffi import (DefRegionKind, Object, VisitInterrupt, _ffi_api, core, structural_map, structural_mutate,
                     structural_visit, structural_walk)
from tvm_ffi.dataclasses import field, py_class


@py_class("dropin.MName", structural_eq="var")
class Name(Object):
    text: str
    kind: Any = None


@py_class("dropin.MPair", structural_eq="tree")
class Pair(Object):
    a: Any
    b: Any
    ignored: Any = field(default=None, structural_eq="ignore")


@py_class("dropin.MFixed", structural_eq="tree", frozen=True)
class Fixed(Object):
    a: Any


@py_class("dropin.MPlain")
class Plain(Object):
    a: Any


@py_class("dropin.MNumber", structural_eq="tree")
class Number(Object):
    a: int


@py_class("dropin.MNode", structural_eq="dag")
class Node(Object):
    a: Any


@py_class("dropin.MScope", structural_eq="tree")
class Scope(Object):
    names: List[Name] = field(structural_eq="def")
    body: Any


@py_class("dropin.MPattern", structural_eq="tree")
class Pattern(Object):
    names: List[Name] = field(structural_eq="def-pattern")
    body: Any


@py_class("dropin.MSimple", structural_eq="tree")
class Simple(Object):
    name: Name = field(structural_eq="def-simple")
    body: Any


@py_class("dropin.MHooked", structural_eq="tree")
class Hooked(Object):
    inside: Any
    mode: int

    def __s_mutate__(mutator, self):
        if self.mode == 0:
            raise KeyError("from the hook")
        if self.mode == 1:
            return Hooked(mutator.mutate(self.inside), 1)
        if self.mode == 2:
            return Hooked(mutator.default_mutate(self.inside), 2)
        if self.mode == 3:
            return None
        if self.mode == 4:
            return mutator.with_def_region_kind(DefRegionKind.DEF_SIMPLE,
                lambda: Hooked(mutator.mutate(self.inside), 4))
        if self.mode == 5:
            return mutator.def_region_kind()
        return self


@py_class("dropin.MInPlace", structural_eq="tree")
class InPlace(Object):
    inside: Any

    def __s_mutate__(mutator, self):
        return InPlace(mutator.mutate(self.inside))

    def __s_maybe_inplace_mutate__(mutator, self):
        self.inside = mutator.mutate(self.inside)
        return self


def short(v):
    return type(v).__name__ if isinstance(v, Object) else v


def context(e):
    """The objects that an error names, from the inside out, and its earlier context."""
    error = getattr(e, "__tvm_ffi_error__", None)
    return error and error.extra_context


def says(label, call, *args, own_words=True, **kwargs):
    """Prints a result, or an error with its message (if that comes from the test) and the path to it."""
    try:
        result = call(*args, **kwargs)
    except Exception as e:
        way = context(e)
        print(label, "raises", type(e).__name__, str(e).splitlines() if own_words else "",
              way and (list(way.reverse_visit_pattern), way.prev_error_context))
    else:
        print(label, "gives", repr(result))


def more(n):
    return n + 1


def bad(*args):
    return 1 // 0


def values():
    x, y = Name("x", 1), Name("y", [1])
    shared = Pair(1, 2)
    node = Node(1)
    return [None, 1, "a", "a longer text", b"b", 2.5, 2**70, [1, [2, None, 3]], {"k": 1, 1: [2]},
            tvm_ffi.List([1, "a"]), tvm_ffi.Dict({1: 2, "x": tvm_ffi.Dict({3: 4})}),
            {i: i for i in range(20)}, Pair(1, Pair("x", [2.5, 7]), 9), [shared, shared],
            Scope([x, y], [x, y, Name("z", 1)]), Pattern([x, Name("y", x)], [x, x]),
            Simple(Name("s", x), [x]), [node, [node], Node(node)], Fixed(1), Plain([1]), Number(1),
            tvm_ffi.dtype("int8"), VisitInterrupt(1), tvm_ffi.StructuralKey([1]),
            *[[Hooked([1, 2], mode)] for mode in range(7)], InPlace([1])]


def mapping():
    int_more = (int, more)
    for i, v in enumerate(values()):
        before = repr(v)
        for order in ("pre", "post"):
            says(f"map {i} {order}", structural_map, v, int_more, order=order)
            says(f"nothing {i} {order}", structural_map, v, (float, lambda n: n), order=order)
            says(f"text {i} {order}", structural_map, v, (str, lambda s: s + "!"), order=order)
            seen = []
            says(f"all {i} {order}", structural_map, v, lambda n: seen.append(short(n)) or n, order=order)
            show("seen", seen)
            seen.clear()
            says("regions", structural_map, v, with_def_region_kind=lambda n, k: seen.append((short(n), int(k))) or n,
                 order=order)
            show("seen", seen)
            says(f"failing {i} {order}", structural_map, [0.5, [v]], (int, bad), order=order)
            says(f"renamed {i} {order}", structural_map, v, (Name, lambda n: Name(n.text + "'", n.kind)), order=order)
        show("as before", repr(v) == before)
    x = Name("x", 1)
    r = structural_map(Scope([x], [x, x]), int_more)
    show("one name", r.names[0].same_as(r.body[0]), r.body[1].same_as(r.body[0]), r.names[0].same_as(x))
    node = Node(1)
    for order in ("pre", "post"):
        seen = []
        r = structural_map([node, [node], Node(node)], [(Node, lambda n: seen.append(1) or n), int_more], order=order)
        show("one node", r[0].same_as(r[1][0]), r[2].a.same_as(r[0]), len(seen))
    for v in ([1, [2]], {"a": [1]}, tvm_ffi.List([1]), tvm_ffi.Dict({1: 2}), Pair(1, [2])):
        v = tvm_ffi.convert(v)
        show("kept", structural_map(v, (int, lambda n: n)).same_as(v),
             structural_map(v, (int, lambda n: n + 0)).same_as(v), structural_map(v, int_more).same_as(v))
    says("several rules", structural_map, [1, 2.5, Pair("p", 1)], [(Pair, lambda p: [p.b, p.a, 2.5]),
        (float, lambda n: None), int_more], order="pre")
    says("several rules", structural_map, [1, 2.5, Pair("p", 1)], [(Pair, lambda p: [p.b, p.a, 2.5]),
        (float, lambda n: None), int_more], order="post")
    says("pair below", structural_map, [1, Pair([2], 3)], [(int, lambda n: 1 // 0 if n == 2 else n),
        (Pair, lambda p: Pair([7, 2], 3))], order="pre")
    says("pair above", structural_map, [1, Pair([2], 3)], [(Pair, bad), int_more])
    says("wrong kind", structural_map, [Number(1)], (int, lambda n: "one"), own_words=False)
    says("no copy", structural_map, [tvm_ffi.Shape([1])], int_more, own_words=False)
    says("given error", structural_map, [1], (int, lambda n: core.Error("ValueError", "given", "")))


def mutating():
    ours = lambda n, m: m.default_mutate(n)
    key = len(values()) - 9  # a StructuralKey, whose hash must be an int
    for i, v in enumerate(values()):
        seen = []
        says(f"mutate {i}", structural_mutate, v, lambda n, m, mode: (seen.append((short(n), mode,
            int(m.def_region_kind()))), m.default_mutate(n))[1])
        show("seen", seen)
        says(f"final {i}", structural_mutate, [v], [(int, lambda n, m: [n]), (str, lambda s, m: 1)], own_words=i != key)
        says(f"failing {i}", structural_mutate, [0.5, [v]], [(int, bad), (Pair, ours)])
    says("own way", structural_mutate, [1, Pair([2], 3), Pair(4, 5)], [(Pair, lambda p, m: m.mutate(p.a)),
        (int, lambda n, m: n * 10)])
    says("own way fails", structural_mutate, [1, Pair([2], 3)], [(Pair, lambda p, m: m.mutate(p.a)),
        (int, lambda n, m: 1 // 0 if n == 2 else n)])
    says("default fails", structural_mutate, [1, Pair([2], 3)], [(Pair, ours),
        (int, lambda n, m: 1 // 0 if n == 2 else n)])
    says("callback fails", structural_mutate, [1, Pair([2], 3)], (Pair, bad))
    kept = []
    show("kept", structural_mutate([1, [2]], lambda n, m: kept.append(m) or m.default_mutate(n)), len(kept),
         kept[0].same_as(kept[-1]))
    m, x = kept[0], Name("x", 1)
    show("used again", m.mutate([5]), m.mutate(None), len(kept))
    for key in (x, Pair(1, 2), tvm_ffi.convert([1])):
        show("unknown", m.var_remap_get(key), m.var_remap_set(key, [6]), m.var_remap_get(key),
             m.var_remap_set(key, None), m.var_remap_get(key))
        m.var_remap_set(key, "a long enough text")
    show("stands for", m.default_mutate([x, Pair(x, x)]), m.var_remap_get(x))
    show("regions", m.with_def_region_kind(2, lambda: int(m.def_region_kind())),
         m.with_def_region_kind(1, lambda: m.with_def_region_kind(2, lambda: int(m.def_region_kind()))))
    fails("region fails", m.with_def_region_kind, 2, bad)
    show("region after", int(m.def_region_kind()))
    for key in (1, None, "short"):
        fails("no variable", m.var_remap_get, key)
        fails("no variable", m.var_remap_set, key, 1)
    unchanged = []
    structural_mutate(Pattern([x], x), lambda n, m: unchanged.append(m) or m.default_mutate(n))
    fails("unchanged pattern", unchanged[0].var_remap_get, x)


def in_place():
    makers = [lambda: tvm_ffi.Array([1, 2]), lambda: tvm_ffi.List([1, 2]), lambda: tvm_ffi.Map({"a": 1, 2: 2}),
              lambda: tvm_ffi.Dict({"a": 1}),
              lambda: tvm_ffi.Map({i: i for i in range(20)}), lambda: Pair(1, 2), lambda: InPlace(1)]
    for i, make in enumerate(makers):
        for order in ("pre", "post"):
            v = make()
            at, kept = v.__chandle__(), repr(v)
            r = structural_map(v, (int, more), order=order)
            show(f"held {i}", r, r.__chandle__() == at, repr(v) == kept)
            r = structural_map(v._move(), (int, more), order=order)
            show(f"moved {i}", r, r.__chandle__() == at)
            outer = tvm_ffi.Array([make(), tvm_ffi.List([make()])])
            at = outer[0].__chandle__()
            r = structural_map(outer._move(), (int, more), order=order)
            show(f"below {i}", r, r[0].__chandle__() == at)
            outer = tvm_ffi.Array([make(), 1])
            other = outer[0]
            r = structural_map(outer._move(), (int, more), order=order)
            show(f"shared {i}", r, other, r[0].same_as(other))
            outer = tvm_ffi.Map({"k": make()})
            r = structural_map(outer._move(), [(type(make()), lambda n: n), (int, more)], order=order)
            show(f"seen {i}", r)
            outer = tvm_ffi.Array([make()])
            says(f"fails {i}", structural_map, outer._move(), (int, bad), order=order)
        modes = []
        structural_mutate(tvm_ffi.Array([make(), 1])._move(), lambda n, m,
                          mode: (modes.append((short(n), mode)), m.default_mutate(n))[1])
        show("modes", modes)
        modes.clear()
        structural_mutate(tvm_ffi.Array([make(), 1])._move(), [(type(make()), lambda n, m,
            mode: modes.append(mode) or n), (int, lambda n, m, mode: modes.append(mode) or n)])
        show("modes", modes)
    half = tvm_ffi.List([1, 2, 3])
    says("half done", structural_map, half._move(), (int, lambda n: 1 // 0 if n == 2 else n + 1))


def failing_visits():
    tree = [1, Pair([2], 3), {"k": Pair("x", 4.5)}]
    for order in ("pre", "post"):
        says("walk", structural_walk, tree, (int, lambda n: 1 // 0 if n == 2 else None), order=order)
        says("walk", structural_walk, tree, (Pair, bad), order=order)
        says("walk", structural_walk, tree, (float, bad), order=order)
        says("walk", structural_walk, [tree], (tvm_ffi.Map, lambda n: "no"), order=order, own_words=False)
    says("visit", structural_visit, tree, (float, bad))
    says("visit", structural_visit, tree, [(float, bad), (Pair, lambda p, v: v.default_visit(p))])
    says("visit", structural_visit, tree, [(float, bad), (Pair, lambda p, v: v.visit(p.b))])

    def again(n):
        try:
            structural_map(Pair(n, 1), (int, bad))
        except Exception as e:
            raise e

    says("twice", structural_map, [[1.5]], (float, again))


def paths():
    find = tvm_ffi.get_global_func("ffi.VisitErrorContext.FindAccessPaths")

    def looks(label, root, *pattern):
        try:
            structural_map([1], (int, bad))
        except Exception as e:
            way = context(e)
        way.reverse_visit_pattern.clear()
        for v in reversed(pattern):
            way.reverse_visit_pattern.append(v)
        for prefix in (False, True):
            show(label, find(root, way, prefix))

    leaf, other = Pair(1, 2), Pair(0, 0)
    items = tvm_ffi.Array([leaf])
    root = Pair(items, items)
    for label, pattern in (("none", []), ("leaf", [leaf]), ("root leaf", [root, leaf]), ("items", [items]),
                           ("root items", [root, items]), ("root other", [root, other]),
                           ("all", [root, items, leaf]), ("other", [other]), ("leaf other", [leaf, other]),
                           ("leaf root", [leaf, root]), ("twice", [root, root, leaf, leaf])):
        looks(label, root, *pattern)
    m = tvm_ffi.Map({"a": leaf, leaf: other})
    for label, r in (("map", Pair(m, tvm_ffi.List([leaf]))), ("dict", Pair(tvm_ffi.Dict({"k": leaf}),
        [other, [leaf]])), ("deep", Pair(Pair(leaf, Pair(other, leaf)), 1)),
                     ("ignored", Pair(1, 2, leaf)), ("name", Pair(Name("x", leaf), leaf)), ("plain", Plain(leaf)),
                     ("hooked", Hooked(leaf, 1)), ("list", tvm_ffi.List([leaf])),
                     ("key", Pair(tvm_ffi.StructuralKey([leaf]), 1)), ("interrupt", VisitInterrupt(leaf)),
                     ("leaf", leaf), ("empty", Pair([], {})), ("None", None)):
        looks(label, r, leaf)
        looks(label, r, r or leaf, leaf)
        looks(label, r, r or leaf, other)
        looks(label, r, leaf, other)
    for v in (None, "a long enough text", [], {}, [[]], tvm_ffi.Shape([1]), lambda: 1, 2**70,
              tvm_ffi.access_path.AccessPath.root(), tvm_ffi.system_lib()):
        r = Pair(v, 1)
        looks("end", r, r, other)
        looks("end", Pair(r, 2), r, other)
        if isinstance(r.a, Object):
            looks("itself", r, r.a)
    p = Pair(1, 1)
    q = Pair(p, p)
    r = Pair(q, q)
    for pattern in ([p], [q], [r, q, p], [r, r, q, q, q, p], [r, q, r, p], [q, p, other]):
        looks("shared", r, *pattern)
    tree = Pair(1, Pair(2, leaf))
    try:
        structural_map(tree, (int, lambda n: 1 // 0 if n == 2 else n))
    except Exception as e:
        show("found", find(tree, context(e), False), find([tree], context(e), False), find(tree, context(e), 1))
        way = context(e)
    fails("no object", find, 1, way, False)
    fails("no object", find, "short", way, False)
    fails("no context", find, tree, leaf, False)
    fails("two arguments", find, tree, way)


def wrong_calls():
    for order in (7, -1, 0):
        seen = []
        show("order", _ffi_api.StructuralMap([1, [2]], [(-1, lambda v: seen.append(short(v)) or v)], [], order), seen)
    show("nothing to call", structural_map([1], []), structural_mutate([1], []))
    fails("no callbacks", _ffi_api.StructuralMap, [1], 5, [], 0)
    fails("short entry", _ffi_api.StructuralMap, [1], [(1,)], [], 0)
    fails("no mode", _ffi_api.StructuralMutate, [1], [(1, more)])
    fails("no function", _ffi_api.StructuralMutate, [1], [(1, 2, True)])
    fails("no mutator", _ffi_api.StructuralMutatorMutate, 1, 2)
    fails("no mutator", _ffi_api.StructuralMutatorVarRemapGet, 1, 2)
    core._register_type_attr(core._object_type_key_to_index("dropin.MFixed"), "__s_mutate__", 5)
    says("wrong hook", structural_map, [Fixed(1)], (int, more), own_words=False)


def run():
    for column in ("__s_mutate__", "__s_maybe_inplace_mutate__"):
        show(column, [i for i in range(64, 79) if core._lookup_type_attr(i, column) is not None])
    mapping()
    mutating()
    in_place()
    failing_visits()
    paths()
    wrong_calls()
