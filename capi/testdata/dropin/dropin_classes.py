"""Classes of objects: defined in Python, in C++ (the package's testing library), and enumerations."""

import copy
import gc
import pickle
import weakref
from typing import Any, Callable, Dict, List, Optional, Union

import sys
import unittest.mock

import tvm_ffi
sys.modules.setdefault("pytest", unittest.mock.MagicMock())  # the package's test classes import it
import tvm_ffi.testing as T
from check import fails, says, show
from tvm_ffi import Object, access_path
from tvm_ffi.dataclasses import IntEnum, StrEnum, Enum, auto, entry, field, py_class, KW_ONLY, fields, asdict, replace


@py_class("dropin.Point", eq=True, order=True, unsafe_hash=True)
class Point(Object):
    x: int
    y: float = 2.5


@py_class("dropin.Point3", eq=True, unsafe_hash=True)
class Point3(Point):
    z: Optional[int] = None
    name: str = "point"


@py_class("dropin.Everything")
class Everything(Object):
    i: int
    f: float
    b: bool
    s: str
    y: bytes
    d: tvm_ffi.dtype
    v: tvm_ffi.Device
    a: Any
    o: Object
    p: Optional[Point]
    l: List[int]
    m: Dict[str, Point]
    u: Union[int, str]
    ar: tvm_ffi.Array
    ls: tvm_ffi.List
    t: Optional[tvm_ffi.Tensor]
    fn: Callable[..., Any]
    mp: tvm_ffi.Map
    dt: tvm_ffi.Dict
    n: Any = None


@py_class("dropin.Options")
class Options(Object):
    first: int
    items: List[int] = field(default_factory=list)
    hidden: int = field(default=7, init=False, repr=False)
    _: KW_ONLY
    key: str
    other: int = field(default=3, compare=False, hash=False)

    def __post_init__(self):
        self.hidden = self.first + 1


@py_class("dropin.Frozen", frozen=True)
class Frozen(Object):
    value: int


def values():
    p = Point(1)
    show("point", p, p.x, p.y, Point(3, 4), Point(y=1, x=2), Point(x=True))
    p.x = 5
    p.y = 7
    show("set", p, type(p.y).__name__)
    fails("set text", setattr, p, "x", "text")
    says("wrong argument", Point, "text")
    says("missing", Point)
    says("too many", Point, 1, 2, 3)
    says("unknown", lambda: Point(1, q=2))
    says("twice", lambda: Point(1, x=2))
    fails("no attribute", lambda: p.q)
    show("equal", Point(1) == Point(1), Point(1) == Point(2), Point(1) != Point(1, 3), hash(Point(1)) == hash(Point(1)))
    show("order", Point(1) < Point(2), Point(1, 2) <= Point(1, 1), Point(2) > Point(1),
         sorted([Point(3), Point(1), Point(2)]))
    q = Point3(1, 2, 3, "n")
    show("derived", q, isinstance(q, Point), q.x, q.z, Point3(1), Point3(1, z=None), Point3(1) == Point3(1),
         Point3(1) == Point(1))
    show("type key", tvm_ffi.registry.get_registered_type_keys()[-1] in ("dropin.Frozen",))
    o = Options(1, key="k")
    show("options", o, o.hidden, o.items, Options(2, [1, 2], key="z", other=9))
    show("own default", Options(1, key="k").items.same_as(o.items))
    says("keyword only", Options, 1, [2], "k")
    says("no init", lambda: Options(1, key="k", hidden=1))
    says("missing keyword", lambda: Options(1))
    f = Frozen(4)
    fails("frozen", setattr, f, "value", 5)
    show("frozen", f)
    e = Everything(1, 2, True, "text, a long one", b"b", tvm_ffi.dtype("int8"), tvm_ffi.device("cuda:2"), [1], p, None,
                   [1, 2], {"p": p}, "u", [1], [2], None, len, {1: 2}, {3: 4})
    for name in ["i", "f", "b", "s", "y", "d", "v", "a", "o", "p", "l", "m", "u", "ar", "ls", "t", "fn", "mp", "dt",
                 "n"]:
        show(name, getattr(e, name) if name != "fn" else None, type(getattr(e, name)).__name__)
        for v in [None, True, 3, 2.5, "t", b"b", [1], ["a"], {"k": 1}, {"k": p}, p, q, tvm_ffi.dtype("int4"),
                  tvm_ffi.device("cpu"), 2**70,
                  tvm_ffi.List([1]), tvm_ffi.Dict({"k": 1}), tvm_ffi.Shape([1]), [], lambda: 1]:
            try:
                setattr(e, name, v)
                show("set", getattr(e, name) if not callable(getattr(e, name)) else "function")
            except Exception as error:
                show("not set", type(error).__name__, str(error).splitlines()[0])
    show("after", type(e.l), e.m)


def copies():
    p = Point3(1, 2, 3, "name of some length")
    o = Options(1, [1, 2], key="k")
    for v in [p, o, Frozen(1)]:
        c, d = copy.copy(v), copy.deepcopy(v)
        show("copies", c, d, c.same_as(v), d.same_as(v))
    o2 = copy.copy(o)
    o2.items.append(3)
    show("shallow", o, o2)
    o3 = copy.deepcopy(o)
    o3.items.append(4)
    show("deep", o, o3)
    show("replace", replace(p, x=9) if not hasattr(copy, "replace") else copy.replace(p, x=9))
    show("asdict", asdict(p), [f.name for f in fields(Options)])
    for v in [p, o, Frozen(1)]:
        fails("pickle", lambda: pickle.loads(pickle.dumps(v)))
    show("in containers", tvm_ffi.Array([p, p])[1].same_as(p), tvm_ffi.Map({"p": p})["p"] == p)
    show("as key", tvm_ffi.Map({p: 1})[p])
    show("through C++", tvm_ffi.get_global_func("testing.echo")(p).same_as(p))


def ends():
    class Held:
        pass

    @py_class("dropin.Holder")
    class Holder(Object):
        what: Any
        other: Optional[Object] = None

    h = Held()
    watch = weakref.ref(h)
    holder = Holder(h)
    del h
    gc.collect()
    show("held", watch() is not None)
    second = copy.copy(holder)
    del holder
    gc.collect()
    show("held by the copy", watch() is not None)
    second.what = None
    gc.collect()
    show("let go", watch() is None)
    count = tvm_ffi.get_global_func("testing.object_use_count")
    a = tvm_ffi.Array([1])
    one = count(a)
    holders = [Holder(a, a) for _ in range(10)]
    show("counted", count(a) - one)
    fails("failing", lambda: Holder(a, 5))
    fails("failing late", lambda: Holder(a, a, a))
    holders.clear()
    gc.collect()
    show("counted after", count(a) - one)


def native():
    show("pair", T.TestIntPair(1, 2), T.TestIntPair(3, 4).sum() if hasattr(T.TestIntPair, "sum") else None)
    show("derived", T.TestObjectDerived(v_map=tvm_ffi.Map({"a": 1}), v_array=tvm_ffi.Array([1]), v_i64=1, v_f64=2.0,
                                        v_str="s"))
    for cls, calls in {
        "_TestCxxAutoInit": [((1,), {}), ((1, 2), {}), ((), {}), ((1,), {"c": 5}), ((1,), {"d": 5}), ((1,), {"zz": 5})],
        "_TestCxxAutoInitSimple": [((1, 2), {}), ((), {"x": 1, "y": 2}), ((1,), {}), ((1, 2, 3), {}), ((1,), {"x": 2})],
        "_TestCxxKwOnly": [((), {"x": 1, "y": 2, "z": 3}), ((1,), {}), ((), {"x": 1})],
        "_TestCxxAutoInitKwOnlyDefaults": [((1,), {}), ((), {}), ((), {"p_required": 1, "k_required": 2})],
        "_TestCxxAutoInitParent": [((1,), {}), ((1, 2), {}), ((), {})],
        "_TestCxxAutoInitChild": [((1, 2), {}), ((1,), {}), ((1, 2, 3, 4), {})],
        "_TestCxxAutoInitAllInitOff": [((), {}), ((1,), {})],
        "_TestCxxInitSubset": [((1,), {}), ((), {})],
        "_TestCxxNoAutoInit": [((), {})],
    }.items():
        for args, kwargs in calls:
            says(cls, lambda: repr(getattr(T.testing, cls)(*args, **kwargs)))
    for make in [lambda: T.TestCompare(1, "a", 2), lambda: T.TestHash(1, "a", 2), lambda: T.TestCustomHash(1, "a"),
                 lambda: T.TestCustomCompare(1, "a")]:
        try:
            x, y = make(), make()
            show("custom", x, tvm_ffi._ffi_api.RecursiveEq(x, y),
                 tvm_ffi._ffi_api.RecursiveHash(x) == tvm_ffi._ffi_api.RecursiveHash(y))
        except Exception as e:
            show("custom", type(e).__name__)
    fails("not copyable", lambda: copy.copy(T.TestNonCopyable(1)))
    make = tvm_ffi._ffi_api.MakeObjectFromPackedArgs
    fails("by names", make, "testing.TestIntPair", "a", 5, "b", 6)
    fails("by names, one missing", make, "testing.TestIntPair", "a", 5)
    fails("by names, one unknown", make, "testing.TestIntPair", "a", 5, "b", 6, "c", 7)
    refused = ["no.SuchType", "testing.TestNonCopyable"]
    for key in refused:
        try:
            make(key)
        except Exception:
            show("by names", key, "is refused")
    fails("by names, python", make, "dropin.Point", "x", 5)


def enums():
    class Color(IntEnum, type_key="dropin.Color"):
        RED = 1
        GREEN = 5
        BLUE = 3

    class Word(StrEnum, type_key="dropin.Word"):
        HELLO = "hello"
        BYE = "bye"

    class Op(Enum, type_key="dropin.Op"):
        ADD = auto()
        MUL = auto()

    show("colors", [c.name for c in Color], [c.value for c in Color], Color.RED, Color(5), Color.get(3), len(Color))
    show("words", [w.name for w in Word], [w.value for w in Word], Word.HELLO, Word("bye"))
    show("ops", [(o._int_index, o._str_index) for o in Op], Op.ADD, Op.ADD == Op.MUL, Op.ADD.same_as(Op.ADD))
    fails("no color", Color, 77)
    fails("no word", Word, "zz")
    show("equal", Color.RED == 1, Word.HELLO == "hello", hash(Color.RED) == hash(1))
    show("through", tvm_ffi.convert([Color.RED])[0].same_as(Color.RED))
    costs = Op.def_attr("cost", default=0)
    costs[Op.ADD] = 3
    show("attributes", costs[Op.ADD], costs.get(Op.MUL), Op.ADD in costs)
    show("copies", copy.copy(Color.RED).same_as(Color.RED), copy.deepcopy([Word.BYE])[0].same_as(Word.BYE))
    show("pickle", pickle.loads(pickle.dumps(tvm_ffi.Array([Color.GREEN, Word.BYE, Op.MUL])))[0].same_as(Color.GREEN))

    @py_class("dropin.Painted")
    class Painted(Object):
        color: Color
        word: Word = Word.HELLO

    show("field", Painted(Color.RED), Painted(5, "bye"))
    says("wrong field", Painted, 77)
    show("native", [m.name for m in T.testing._TestCxxIntEnum], [m.value for m in T.testing._TestCxxStrEnum])
    for f in [lambda: T.testing._TestCxxEnumHolder(1, "alpha"), lambda: T.testing._TestCxxEnumHolder(77, "zz")]:
        fails("holder", f)


def paths():
    P = access_path.AccessPath
    p = P.root().attr("field").array_item(3).map_item("key")
    p = p.attr_missing("gone").array_item_missing(4).map_item_missing(5)
    show("path", p, p.depth, p.parent, p.step, p.to_steps(), P.root())
    same = P.root().attr("field").array_item(3)
    show("prefix", same.is_prefix_of(p), p.is_prefix_of(same), P.root().is_prefix_of(same),
         same == P.root().attr("field").array_item(3),
         same == P.root().attr("other"), same != p, hash(same) == hash(P.root().attr("field").array_item(3)))
    show("steps", [(s.kind, s.key) for s in p.to_steps()])
    show("extended", P.root()._extend(same.step))
    fails("wrong step", P.root()._extend, 5)
    fails("wrong attr", P.root().attr, 5)
    fails("wrong item", P.root().array_item, "x")


def run():
    for topic in (values, copies, ends, native, enums, paths):
        print("==", topic.__name__)
        topic()
