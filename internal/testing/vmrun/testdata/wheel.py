"""Runs programs of package vmrun on Apache TVM's virtual machine.

Standard input has a program per line, standard output an outcome per line, both JSON. Each program runs in a process
of its own: if it dies, the outcome is {"crash": status}.
"""

import base64
import json
import os
import struct
import sys

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

trace = []


def dtype_of(code, bits, lanes):
    if code == 6:
        return tvm_ffi.dtype("bool")
    return tvm_ffi.dtype({0: "int", 1: "uint", 2: "float"}[code] + str(bits))


def array(t):
    """The bytes of a tensor on the host, shared with it."""
    a = np.from_dlpack(t)
    if not a.flags.writeable:
        a = np.ndarray(a.shape, a.dtype, Memory(a))
    return a.reshape(-1).view(np.uint8)


class Memory:
    """The memory of an array, as something that may be written."""

    def __init__(self, a):
        self.owner = a
        interface = dict(a.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def writable(t):
    a = np.from_dlpack(t)
    return np.asarray(Memory(a)).reshape(-1).view(np.uint8)


def value(v):
    """A value of the form that value_test.go writes."""
    kind, *rest = v
    if kind == "none":
        return None
    if kind == "dtype":
        return dtype_of(*rest)
    if kind == "float":
        return struct.unpack("<d", bytes.fromhex(rest[0]))[0]
    if kind == "shape":
        return tvm_ffi.Shape(rest[0])
    if kind == "tuple":
        return tvm_ffi.Array([value(item) for item in rest[0]])
    if kind == "tensor":
        code, bits, lanes, shape, data = rest
        flat = np.frombuffer(bytes.fromhex(data), dtype=str(dtype_of(code, bits, lanes)))
        return tvm.runtime.tensor(flat.reshape(shape).copy())
    return rest[0]


def show(v):
    """The text that Format in value.go gives."""
    if v is None:
        return "None"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    if isinstance(v, float):
        return "f%016x" % struct.unpack("<Q", struct.pack("<d", v))[0]
    if isinstance(v, (tvm_ffi.dtype, tvm.DataType)):
        d = tvm_ffi.dtype(v)
        return "<%d.%d.%d>" % (d.type_code, d.bits, d.lanes)
    if isinstance(v, str):
        return "'" + v + "'"
    if isinstance(v, tvm_ffi.Shape):
        return "[" + " ".join(map(str, v)) + "]"
    if isinstance(v, tvm_ffi.Tensor):
        return "tensor" + show(v.dtype) + show(tvm_ffi.Shape(v.shape)) + array(v).tobytes().hex()
    if isinstance(v, (tvm_ffi.Array, list, tuple)):
        return "(" + ", ".join(map(show, v)) + ")"
    if isinstance(v, tvm_ffi.Function):
        return "function"
    if isinstance(v, tvm_ffi.core.Object):
        key = type(v).__tvm_ffi_type_info__.type_key if hasattr(type(v), "__tvm_ffi_type_info__") else str(type(v))
        return {"relax.vm.Closure": "closure", "vm.Storage": "storage"}.get(key, key)
    return "context"


def copied(v):
    """A value with new tuples, which contain the same tensors."""
    return tvm_ffi.Array([copied(item) for item in v]) if isinstance(v, tvm_ffi.Array) else v


def integers(*values):
    for v in values:
        if isinstance(v, bool) or not isinstance(v, int):
            raise TypeError(f"{v} is no integer")


def register(name):
    return tvm_ffi.register_global_func("vmrun." + name)


@register("add")
def _(a, b):
    integers(a, b)
    n = (a + b) & (2**64 - 1)
    return n - 2**64 if n >= 2**63 else n


@register("less")
def _(a, b):
    integers(a, b)
    return a < b


@register("addf")
def _(a, b):
    if not isinstance(a, float) or not isinstance(b, float):
        raise TypeError("no floats")
    return float(np.float64(a) + np.float64(b))


def tensors(*values):
    for v in values:
        if not isinstance(v, tvm_ffi.Tensor):
            raise TypeError("no tensor")


@register("sum")
def _(x):
    tensors(x)
    return int(array(x).sum(dtype=np.int64))


@register("fill")
def _(x, n):
    integers(n)
    tensors(x)
    writable(x)[:] = n & 255


@register("mix")
def _(x, y, *n):
    integers(*n)
    tensors(x, y)
    data, to = array(x).copy(), writable(y)
    if len(data):
        i = np.arange(len(to))
        to[:] = (data[i % len(data)].astype(np.int64) + i + sum(n) % 256).astype(np.uint8)


@register("bytes")
def _(shape, dtype):
    if not isinstance(shape, tvm_ffi.Shape) or not isinstance(dtype, (tvm_ffi.dtype, tvm.DataType)):
        raise TypeError("no shape and data type")
    n = (tvm_ffi.dtype(dtype).bits + 7) // 8
    for d in shape:
        n *= d
    return tvm_ffi.Shape([n])


@register("pick")
def _(n, *values):
    integers(n)
    if n < 0:
        raise ValueError("no index")
    return copied(values[n % len(values)])


@register("fail")
def _(text):
    raise ValueError(text)


@register("log")
def _(*values):
    trace.append(show(values))


invoke_closure = tvm_ffi.get_global_func("vm.builtin.invoke_closure")


@register("invoke")
def _(machine, f, *args):
    return copied(invoke_closure(machine, f, *map(copied, args)))


def run(p):
    trace.clear()
    try:
        load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.relax.VMExecutable")
        vm = relax.VirtualMachine(load(base64.b64decode(p["executable"])), tvm.cpu())
        return {"result": show(vm["main"](*map(value, p["args"]))), "trace": trace}
    except Exception as e:
        return {"error": str(e).strip().split("\n")[-1] or "error", "trace": trace}


def main():
    for line in sys.stdin:
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(out)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(into, "w") as f:
                json.dump(run(json.loads(line)), f)
            os._exit(0)
        os.close(into)
        with os.fdopen(out) as f:
            outcome = f.read()
        _, status = os.waitpid(child, 0)
        sys.stdout.write((outcome if status == 0 else json.dumps({"crash": status})) + "\n")
        sys.stdout.flush()


main()
