"""Containers, texts and numbers."""

import copy
import pickle

import numpy
import tvm_ffi
from check import fails, says, show
from tvm_ffi import Array, Dict, List, Map, _ffi_api, core

ORDERS = [_ffi_api.RecursiveLt, _ffi_api.RecursiveLe, _ffi_api.RecursiveGt, _ffi_api.RecursiveGe]


def sequences():
    a = Array([1, "two", 3.5, None, True, b"six"])
    show("array", a, len(a), list(a), a[0], a[-1], a[1:4], a[::-1], a[5:2])
    fails("array end", lambda: a[6])
    fails("array before", lambda: a[-7])
    show("array in", 1 in a, "two" in a, 2 in a, None in a, 3.5 in a)
    show("array plus", a + [1], [0] + a, a + a)
    fails("array set", lambda: a.__setitem__(0, 1))
    show("array equal", a == Array(list(a)), a != Array([1]), a == [1, "two", 3.5, None, True, b"six"])
    show("array hash", hash(Array([1, 2])) == hash(Array([1, 2])))
    show("array order", *[[order(x, y) for order in ORDERS] for x, y in [([1, 2], [1, 3]), ([1], [1]), ([2], [1, 5]),
         (["a"], ["b"]), ([], [0]), ([1.5], [1.25]), ([None], [None]), ([b"a"], [b"ab"]), ([[1], [2]], [[1], [3]])]])
    fails("array without order", ORDERS[0], [1], ["a"])
    show("array bool", bool(Array([])), bool(a))
    show("array iter", [x for x in reversed(a)], a.index("two"), a.count(1))
    show("array types", type(a), type(a[1:2]), type(tvm_ffi.convert([1])), type(tvm_ffi.convert((1,))))

    s = List([3, 1, 2])
    s.append("x")
    s.insert(0, "first")
    s.insert(-1, "before last")
    s.insert(100, "last")
    show("list", s, len(s), s.pop(), s.pop(0), s.pop(-2), s)
    s.extend([7, 8, 9])
    s[1:3] = ["a", "b", "c"]
    show("list slices", s, s[1:], s[::2], s[-1])
    s[::2] = [0] * len(s[::2])
    show("list step", s)
    del s[0]
    del s[1:3]
    show("list deleted", s)
    s.reverse()
    show("list reversed", s)
    s.remove(0)
    fails("list remove", s.remove, "no such")
    fails("list pop", List([]).pop)
    fails("list pop far", s.pop, 77)
    s += [1, 2]
    show("list plus", s, s + [3], s == List(list(s)))
    fails("list slice size", lambda: s.__setitem__(slice(None, None, 2), [1, 2, 3, 4, 5, 6, 7]))
    s.clear()
    show("list cleared", s, bool(s))
    other = List([1])
    alias = List([other, other])
    alias[0].append(2)
    show("list shared", alias, alias[0].same_as(alias[1]))
    fails("list hash", lambda: hash(List([1])) == hash(List([1])))


def mappings():
    m = Map({"b": 1, "a": 2, 3: [4, 5], None: {"x": 1.5}})
    show("map", m, len(m), list(m), list(m.keys()), list(m.values()), list(m.items()))
    show("map get", m["a"], m[3], m.get("a"), m.get("zz"), m.get("zz", 7), "b" in m, "zz" in m)
    fails("map missing", lambda: m["zz"])
    show("map equal", m == Map(dict(m.items())), Map({1: 2, 3: 4}) == Map({3: 4, 1: 2}), Map({1: 2}) == Map({1: 3}))
    show("map hash", hash(Map({1: 2, 3: 4})) == hash(Map({3: 4, 1: 2})))
    fails("map less", ORDERS[0], Map({1: 2}), Map({1: 3}))
    show("map keys", Map({1: "int", True: "bool", 2.0: "float", "1": "str"}))
    show("map empty", Map({}), list(Map({}).items()), bool(Map({})))
    big = Map({f"key {i}": i for i in range(1000)})
    show("map big", len(big), list(big)[:3], list(big)[-1], big["key 500"], sum(big.values()))

    d = Dict({"one": 1})
    d["two"] = 2
    d["one"] = "replaced"
    show("dict", d, len(d), list(d.items()))
    del d["one"]
    fails("dict del", lambda: d.__delitem__("none"))
    fails("dict missing", lambda: d["none"])
    show("dict pop", d.pop("two"), d.pop("two", "default"), d)
    fails("dict pop missing", d.pop, "two")
    d.update({i: i * i for i in range(20)})
    show("dict order", list(d.items()))
    for i in range(0, 20, 2):
        del d[i]
    d[4] = "again"
    show("dict after erasing", d, d.setdefault(4, 1), d.setdefault("new", 1))
    d.clear()
    show("dict cleared", d)
    show("dict equal", Dict({1: 2, 3: 4}) == Dict({3: 4, 1: 2}))


def texts():
    for text in ["", "a", "1234567", "12345678", "größer", "日本語テキスト", "\x00inner\x00", "🙂" * 3, 'quote " and \\',
                 "new\nline"]:
        back = tvm_ffi.convert([text])[0]
        show("text", back, len(back), type(back).__mro__[1:-1], back == text, hash(back) == hash(text))
        show("text repr", tvm_ffi.convert([text]))
    fails("surrogate", tvm_ffi.convert, ["\ud800"])
    for data in [b"", b"\x00\xff", bytes(range(256)), b"1234567", b"12345678"]:
        back = tvm_ffi.convert([data])[0]
        show("bytes", back, len(back), back == data)
        show("bytes repr", tvm_ffi.convert([data]))
    show("bytearray", tvm_ffi.convert([bytearray(b"abc")]))
    for number in [0, -1, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**63) - 1, 10**40, -(10**40)]:
        show("int", tvm_ffi.convert([number])[0], tvm_ffi.convert([number]))
    for number in [0.0, -0.0, 1.5, 1e300, 1e-300, float("inf"), float("-inf"), float("nan"), 0.1, 1e16, 123456789.123]:
        show("float", tvm_ffi.convert([number])[0], tvm_ffi.convert([number]))
    show("bool", tvm_ffi.convert([True, False]))
    show("big equal", Array([2**70]) == Array([2**70]), ORDERS[0]([2**70], [2**71]), Map({2**70: 1})[2**70])


def nested():
    shared = List([1])
    v = Array([shared, shared, Map({"k": shared}), (), {}, [[[]]]])
    show("nested", v)
    c = copy.copy(v)
    d = copy.deepcopy(v)
    shared.append(2)
    show("copied", c, d, d[0].same_as(d[1]), d[0].same_as(d[2]["k"]))
    show("deep equal", copy.deepcopy(v) == v)
    cycle = List([1])
    cycle.append(cycle)
    show("cycle", str(cycle).count("..."), len(cycle))
    around = copy.deepcopy(cycle)
    show("cycle copied", around[1].same_as(around), around.same_as(cycle))
    around.clear()
    cycle.clear()
    table = Dict({"self": None})
    table["self"] = table
    show("dict cycle", str(table).count("..."))
    table.clear()
    show("list copy", copy.copy(List([1, [2]])), copy.copy(Dict({1: 2})), copy.copy(Map({1: 2})))
    show("deep", copy.deepcopy(Dict({"a": [1, {"b": (2,)}]})))
    for value in [Array([1, "a"]), List([1, [2]]), Map({"a": 1}), Dict({"a": [1]})]:
        show("pickle", pickle.loads(pickle.dumps(value)), type(pickle.loads(pickle.dumps(value))))


def numbers():
    show("shape", tvm_ffi.Shape([1, 2, 3]), tuple(tvm_ffi.Shape((4, 5))), len(tvm_ffi.Shape([])))
    fails("shape negative", tvm_ffi.Shape, [-1])
    fails("shape text", tvm_ffi.Shape, ["a"])
    fails("shape huge", tvm_ffi.Shape, [2**64])
    for name in ["int32", "float16", "bfloat16", "uint8", "bool", "float8_e4m3fn", "float4_e2m1fnx2", "int8x4",
                 "handle", "float32x16"]:
        t = tvm_ffi.dtype(name)
        show("dtype", t, str(t), t.bits, t.lanes, t.itemsize if t.bits >= 8 else None,
             hash(t) == hash(tvm_ffi.dtype(name)))
        show("dtype in array", tvm_ffi.convert([t]), tvm_ffi.convert([t])[0] == t)
    for name in ["int", "floaty", "int32x0", "", "int32x", "float32x70000", "custom[x"]:
        fails(f"dtype {name}", tvm_ffi.dtype, name)
    show("with lanes", tvm_ffi.dtype("int8").with_lanes(4))
    for name in ["cpu", "cuda:1", "cpu:2", "vulkan:0", "rocm", "metal", "opencl:3", "ext_dev"]:
        d = tvm_ffi.device(name)
        show("device", d, str(d), d.type, d.index, d.dlpack_device_type(), tvm_ffi.convert([d]))
    show("device equal", tvm_ffi.device("cpu") == tvm_ffi.device("cpu", 0),
         hash(tvm_ffi.device("cpu")) == hash(tvm_ffi.device("cpu:0")))
    for name in ["nope", "cpu:x", "cpu:", ":1"]:
        fails(f"device {name}", tvm_ffi.device, name)
    fails("convert", tvm_ffi.convert, object)


def objects():
    """Built-in types: how they are constructed, and how those without fields are compared."""
    function, other = tvm_ffi.convert(lambda x: x), tvm_ffi.convert(lambda y: y)
    tensor = tvm_ffi.from_dlpack(numpy.array([1, 2], dtype="int32"))
    values = [None, 3, True, 2.5, "abc", "a" * 20, b"abc", b"b" * 20, function, tensor, Array([1, True]), Array([]),
              Array([1.5]),
              List([1, 2]), List(["x"]), Map({"a": 1}), Dict({"a": 1, "b": 2}), tvm_ffi.Shape((1, 2)), ValueError("x"),
              1 << 70, tvm_ffi.dtype("int32"), tvm_ffi.device("cpu"), [-1, 2], [[1]], object()]
    for key in ["Object", "String", "Bytes", "Error", "Function", "Shape", "Tensor", "Array", "List", "Map", "Dict"]:
        index = core._object_type_key_to_index("ffi." + key)
        convert = core._lookup_type_attr(index, "__ffi_convert__")
        for i, value in enumerate(values):
            says(f"{key} from {i}", lambda: (lambda v: (type(v), v if key != "Object" else None,
                same(v, value)))(convert(value)))
        fails(f"{key} from two", convert, 1, 2)
    for a, b in [(function, other), (tensor, tvm_ffi.from_dlpack(numpy.zeros(3))), (ValueError("a"), TypeError("b")),
                 (object(), object())]:
        show("without fields", *[order(a, b) for order in [_ffi_api.RecursiveEq, *ORDERS]],
             _ffi_api.RecursiveHash(a) == _ffi_api.RecursiveHash(b))
    fails("function and tensor", _ffi_api.RecursiveLt, function, tensor)


def same(a, b):
    return hasattr(a, "same_as") and hasattr(b, "same_as") and a.same_as(b)


def run():
    for topic in (sequences, mappings, texts, nested, numbers, objects):
        print("==", topic.__name__)
        topic()
