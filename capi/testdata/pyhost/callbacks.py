"""Python functions called by the library, through both ABIs: callbacks.py LIBRARY MODULE

Errors go both ways, each on the thread that it belongs to. MODULE has addone.
"""

import ctypes
import sys
import threading
from ctypes import byref, c_char_p, c_int, c_int64, c_void_p

import numpy as np

import abi

library, path = sys.argv[1:]
lib = abi.Library(library)
THREADS, CALLS = 8, 200


def guarded(body):
    """A safe-call function of body(args, result, ctx). An exception of body becomes this thread's error."""

    def safe_call(ctx, args, count, result):
        try:
            body([args[i] for i in range(count)], result[0], ctx)
            return 0
        except abi.FFIError as e:
            lib.TVMFFIErrorSetRaisedFromCStr(e.kind.encode(), e.message.encode())
        except Exception as e:
            lib.TVMFFIErrorSetRaisedFromCStr(type(e).__name__.encode(), str(e).encode())
        return -1

    return abi.SafeCall(safe_call)


@guarded
def scale(args, result, ctx):
    """Returns the first argument times the context; rejects 13 and strings."""
    (a,) = args
    if a.type_index == abi.FLOAT:
        result.type_index, result.v.float = abi.FLOAT, a.v.float * ctx
    elif a.type_index == abi.INT and a.v.int != 13:
        result.type_index, result.v.int = abi.INT, a.v.int * ctx
    else:
        if a.type_index == abi.INT:
            raise ValueError("thirteen é")
        raise TypeError(f"argument 0 has the type {a.type_index}")


def values_and_errors():
    ended = []
    deleter = abi.Deleter(ended.append)
    f = lib.function(scale, ctx=3, deleter=deleter)
    assert f(14) == 42 and f(0.5) == 1.5 and f(-(1 << 62) // 3) == -(1 << 62) // 3 * 3
    e = abi.fails(abi.FFIError, "thirteen é", f, 13)
    assert (e.kind, e.message) == ("ValueError", "thirteen é") and lib.raised() is None
    e = abi.fails(abi.FFIError, "type 8", f, "text")
    assert e.kind == "TypeError"
    e = abi.fails(abi.FFIError, "unpack", f)
    assert e.kind == "ValueError" and f(1) == 3
    f.release()
    assert ended == [3], f"the deleter ran {len(ended)} times"


def registered():
    """Registered as a global function, it is found by name, also by C callers."""
    f = lib.function(scale, ctx=5)
    name = b"pyhost.scale"
    data = ctypes.create_string_buffer(name)
    lib.check(lib.TVMFFIFunctionSetGlobal(byref(abi.ByteArray(ctypes.addressof(data), len(name))), c_void_p(f.handle),
        0))
    f.release()
    assert lib.get_global("pyhost.scale")(4) == 20
    handle = c_void_p()
    lib.check_classic(lib.TVMFuncGetGlobal(name, byref(handle)))
    assert lib.call_classic(handle, 6) == 30
    abi.fails(abi.ClassicError, "ValueError: thirteen é", lib.call_classic, handle, 13)
    lib.check_classic(lib.TVMFuncFree(handle))
    assert lib.get_global("ffi.FunctionRemoveGlobal")("pyhost.scale")
    assert lib.get_global("pyhost.scale") is None


def nested():
    """An error of the library inside a callback passes through Python and arrives unchanged."""
    module = lib.load(path)
    addone = lib.get_function(module, "addone")

    @guarded
    def load(args, result, ctx):
        lib.load(ctypes.string_at(args[0].v.ptr).decode())

    @guarded
    def compute(args, result, ctx):
        a, out = abi.aligned(np.arange(1024, dtype=np.float32)), abi.aligned(np.zeros(1024, np.float32))
        addone(a, out)
        result.type_index, result.v.int = abi.INT, int(np.array_equal(out, a + 1))

    f, g = lib.function(load), lib.function(compute)
    e = abi.fails(abi.FFIError, "load missing.so: ", f, "missing.so")
    assert e.message.startswith("load missing.so: "), e
    assert f(path) is None and g() == 1


def classic():
    ended = []

    @abi.ClassicCall
    def add(args, codes, count, ret, resource):
        if count != 2 or codes[0] != abi.CLASSIC_INT or codes[1] != abi.CLASSIC_INT:
            lib.TVMAPISetLastError(f"TypeError: add takes two integers, not {count} arguments".encode())
            return -1
        value, code = c_int64(args[0] + args[1] + (resource or 0)), c_int(abi.CLASSIC_INT)
        return lib.TVMCFuncSetReturn(c_void_p(ret), byref(value), byref(code), 1)

    finalizer, f = abi.Finalizer(ended.append), c_void_p()
    lib.check_classic(lib.TVMFuncCreateFromCFunc(add, c_void_p(100), finalizer, byref(f)))
    assert lib.call_classic(f, 1, 2) == 103
    e = abi.fails(abi.ClassicError, "two integers, not 1", lib.call_classic, f, 1)
    assert str(e).startswith("TypeError: "), e
    assert lib.call_classic(f, -1, -2) == 97 and not ended
    lib.check_classic(lib.TVMFuncFree(f))
    assert ended == [100], f"the finalizer ran {len(ended)} times"


def several_threads():
    """Every thread has its own results and its own errors, both on Python's threads and on those of the library."""
    f = lib.function(scale, ctx=7)
    gate, wrong = threading.Barrier(THREADS), []

    @guarded
    def refuse(args, result, ctx):
        raise abi.FFIError("ThreadError", f"{args[0].v.int} on {threading.get_ident()}")

    g = lib.function(refuse)

    def work(number):
        try:
            gate.wait()
            for i in range(CALLS):
                assert f(number * 1000 + i + 20) == 7 * (number * 1000 + i + 20)
                e = abi.fails(abi.FFIError, "", g, number)
                assert (e.kind, e.message) == ("ThreadError", f"{number} on {threading.get_ident()}"), e
        except BaseException as e:
            wrong.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


def parallel_tasks():
    """Tasks of a launch can be Python functions: the library's threads, which Python does not know, call them."""
    Task = ctypes.CFUNCTYPE(c_int, c_int, c_void_p, c_void_p)
    seen, lock = {}, threading.Lock()
    both = threading.Barrier(2)  # the tasks run at the same time, on two threads

    @Task
    def task(number, env, data):
        both.wait(30)
        with lock:
            seen[number] = threading.get_ident()
        return 0

    lib.TVMFFIErrorSetRaisedFromCStr.argtypes = [c_char_p, c_char_p]
    assert lib.TVMBackendParallelLaunch(task, None, 2) == 0
    assert sorted(seen) == [0, 1] and len(set(seen.values())) == 2, seen
    assert threading.get_ident() in seen.values()


for part in (values_and_errors, registered, nested, classic, several_threads, parallel_tasks):
    part()
assert lib.raised() is None
print("ok")
