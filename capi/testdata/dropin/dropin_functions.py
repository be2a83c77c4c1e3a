"""Functions, errors, registration, references and threads."""

import gc
import sys
import threading
import traceback
import weakref

import tvm_ffi
from check import fails, says, show


class OddError(Exception):
    pass


def calls():
    echo = tvm_ffi.convert(lambda *args: args)
    show("echo", echo(), echo(1), echo(1, "a", None, 2.5, b"b", [1], {"k": 2}))
    f = tvm_ffi.convert(lambda x: x + 1)
    show("add", f(1), f(1.5), f(True), type(f).__name__)
    show("none", tvm_ffi.convert(lambda: None)())
    show("callback", tvm_ffi.convert(lambda g, x: g(g(x)))(f, 3))
    show("nested", tvm_ffi.convert(lambda: tvm_ffi.convert(lambda: [f, f]))()()[1](4))
    fails("too few", f)
    fails("too many", f, 1, 2)
    show("object", tvm_ffi.convert(lambda x: x is sys)(sys))
    show("opaque", [x is sys for x in tvm_ffi.convert([sys, sys])])
    fails("keyword", lambda: f(x=1))
    show("many", tvm_ffi.convert(lambda *a: len(a))(*range(300)))

    @tvm_ffi.register_global_func("dropin.twice")
    def twice(x):
        return x * 2

    show("global", tvm_ffi.get_global_func("dropin.twice")(21), twice(2))
    fails("global again", tvm_ffi.register_global_func, "dropin.twice", lambda: 1)
    tvm_ffi.register_global_func("dropin.twice", lambda x: x * 20, override=True)
    show("overridden", tvm_ffi.get_global_func("dropin.twice")(21))
    show("listed", "dropin.twice" in tvm_ffi.registry.list_global_func_names())
    tvm_ffi.registry.remove_global_func("dropin.twice")
    show("removed", "dropin.twice" in tvm_ffi.registry.list_global_func_names(),
         tvm_ffi.get_global_func("dropin.twice", allow_missing=True))
    fails("missing", tvm_ffi.get_global_func, "dropin.twice")
    fails("remove missing", tvm_ffi.registry.remove_global_func, "dropin.twice")
    show("metadata", tvm_ffi.registry.get_global_func_metadata("testing.schema_id_int"))
    fails("metadata missing", tvm_ffi.registry.get_global_func_metadata, "dropin.none")
    names = {n for n in tvm_ffi.registry.list_global_func_names() if n.startswith("testing.")}
    show("testing", sorted(names))
    show("keys", [k for k in tvm_ffi.registry.get_registered_type_keys() if str(k).startswith(("testing.",
        "ffi.")) or "." not in k])


def keywords():
    from tvm_ffi.utils.kwargs_wrapper import make_kwargs_wrapper, make_kwargs_wrapper_from_signature

    f = tvm_ffi.convert(lambda *args: list(args))
    w = make_kwargs_wrapper(f, ["a", "b", "c"], arg_defaults=(10,), kwonly_names=["d"], kwonly_defaults={"d": 4})
    show("keywords", w(1, 2), w(1, b=3), w(1, 2, 3, d=5), w(c=1, b=2, a=3))
    says("keywords missing", w, 1)
    says("keywords unknown", lambda: w(1, 2, e=1))

    def wanted(a, b=2, *, c=3):
        return [a, b, c]

    import inspect

    s = make_kwargs_wrapper_from_signature(tvm_ffi.convert(wanted_list := (lambda *args: list(args))),
        inspect.signature(wanted))
    show("signature", s(1), s(1, c=9), s(b=5, a=4))


def raiser(error):
    def throw(*_):
        raise error

    return tvm_ffi.convert(throw)


def errors():
    for e in [ValueError("bad value"), TypeError("bad type"), KeyError("bad key"), IndexError("bad index"),
              AttributeError("bad attribute"), RuntimeError("several\nlines"), AssertionError("asserted"),
              NotImplementedError("later"), ZeroDivisionError("zero"), MemoryError("full"), OSError("os"),
              StopIteration("stop"), OddError("odd"), ValueError(""), ValueError("größer 🙂")]:
        says("error", raiser(e))
        says("error through two", tvm_ffi.convert(lambda g: g()), raiser(e))

    def outer():
        def inner():
            raise ValueError("at the bottom")

        tvm_ffi.convert(inner)()

    try:
        tvm_ffi.convert(outer)()
    except ValueError as e:
        frames = [f.name for f in traceback.extract_tb(e.__traceback__)]
        show("frames", [n for n in frames if n in ("errors", "outer", "inner")])
    try:
        try:
            raiser(KeyError("cause"))()
        except KeyError as cause:
            raise ValueError("effect") from cause
    except ValueError as e:
        show("chain", e, e.__cause__)

    def chained():
        try:
            raise KeyError("deep")
        except KeyError as k:
            raise ValueError("shallow") from k

    try:
        tvm_ffi.convert(chained)()
    except ValueError as e:
        show("chain across", e, type(e.__cause__).__name__, str(e.__cause__))
    raise_error = tvm_ffi.get_global_func("testing.test_raise_error")
    for kind in ["ValueError", "TypeError", "KeyError", "NoSuchKind", "RuntimeError"]:
        says("library error", raise_error, kind, "words")
    try:
        raise_error("ValueError", "words")
    except ValueError as e:
        show("library frames", [f.name for f in traceback.extract_tb(e.__traceback__) if f.name in ("errors",)])

    @tvm_ffi.register_error("DropinError")
    class DropinError(RuntimeError):
        pass

    says("own kind", raise_error, "DropinError", "mine")
    says("apply", tvm_ffi.get_global_func("testing.apply"), raiser(OddError("through C++")))
    err = tvm_ffi.convert(ValueError("as a value"))
    show("value", err.kind, err.message, type(err.py_error()).__name__)
    fails("after errors", tvm_ffi.convert(lambda: 1))


def references():
    class Held:
        pass

    held = Held()
    watch = weakref.ref(held)
    f = tvm_ffi.convert(lambda h=held: h is not None)
    del held
    show("kept", watch() is not None, f())
    del f
    gc.collect()
    show("let go", watch() is None)
    thing = Held()
    watch = weakref.ref(thing)
    a = tvm_ffi.convert([thing])
    del thing
    gc.collect()
    show("kept in array", watch() is not None)
    del a
    gc.collect()
    show("let go by array", watch() is None)
    count = tvm_ffi.get_global_func("testing.object_use_count")
    a = tvm_ffi.Array([1])
    one = count(a)
    b = tvm_ffi.Array([a, a])
    show("counts", count(a) - one, b[0].same_as(a), a.same_as(b))
    del b
    gc.collect()
    show("counts after", count(a) - one)
    show("moved", tvm_ffi.convert(lambda x: len(x))(a._move()))
    echo = tvm_ffi.get_global_func("testing.echo")
    before = sys.getrefcount(sys)
    for _ in range(100):
        echo(sys)
    gc.collect()
    show("references", sys.getrefcount(sys) - before)


def threads():
    results = []
    f = tvm_ffi.convert(lambda x: x * 2)
    shared = tvm_ffi.Map({i: str(i) for i in range(100)})

    def work(n):
        total = 0
        for i in range(300):
            total += f(i)
            assert shared[i % 100] == str(i % 100)
            try:
                raiser(ValueError(str(n)))()
            except ValueError as e:
                assert str(e).endswith(str(n))
        results.append(total)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    show("threads", results)


def run():
    for topic in (calls, keywords, errors, references, threads):
        print("==", topic.__name__)
        topic()
