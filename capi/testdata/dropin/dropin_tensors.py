"""Tensors, streams and modules."""

import ctypes

import numpy as np
import tvm_ffi
from check import fails, refuses, show


def tensors():
    for a in [np.arange(6, dtype="float32").reshape(2, 3), np.array(3, "int64"), np.zeros((0, 4), "uint8"),
              np.array([True, False]), np.arange(24, dtype="int16").reshape(2, 3, 4), np.arange(4, dtype="complex64")]:
        try:
            t = tvm_ffi.from_dlpack(a)
        except Exception as e:
            show("from_dlpack", a.dtype, type(e).__name__)
            continue
        show("tensor", t.shape, str(t.dtype) if a.dtype != np.complex64 else None, t.device, t.strides,
             t.ndim if hasattr(t, "ndim") else None)
        back = np.from_dlpack(t)
        show("back", back.tolist(), back.dtype, back.shape, back.ctypes.data == a.ctypes.data)
    base = np.arange(24, dtype="float64").reshape(4, 6)
    for name, view in [("columns", base[:, ::2]), ("transposed", base.T), ("reversed", base[::-1]),
                       ("part", base[1:3, 2:4]), ("broadcast", np.broadcast_to(np.arange(3.0), (2, 3)))]:
        try:
            t = tvm_ffi.from_dlpack(view)
            show(name, t.shape, t.strides, np.from_dlpack(t).tolist())
        except Exception as e:
            show(name, type(e).__name__)
        refuses(name + " contiguous", lambda: tvm_ffi.from_dlpack(view, require_contiguous=True).shape)
    fixed = np.arange(3)
    fixed.flags.writeable = False
    fails("read-only", lambda: np.from_dlpack(tvm_ffi.from_dlpack(fixed)).tolist())
    off = np.zeros(65, "uint8")
    off = off[1 + -off.ctypes.data % 64:]
    refuses("unaligned", lambda: tvm_ffi.from_dlpack(off[:8], require_alignment=64).shape)
    fails("no tensor", tvm_ffi.from_dlpack, object())
    t = tvm_ffi.from_dlpack(np.arange(4, dtype="int32"))
    echo = tvm_ffi.get_global_func("testing.echo")
    same = echo(t)
    show("echo", type(same).__name__, same.shape, np.from_dlpack(same).tolist(), same.same_as(t))
    show("numpy argument", echo(np.arange(3, dtype="float32")).shape)
    show("repr", str(tvm_ffi.convert([t])).count("Tensor"))
    kept = tvm_ffi.from_dlpack(np.full(1000, 7, "int32"))
    view = np.from_dlpack(kept)
    del kept
    show("kept", int(view.sum()))
    show("in map", np.from_dlpack(tvm_ffi.Map({"t": t})["t"]).tolist())
    show("capsule", "dltensor" in repr(t.__dlpack__()), t.__dlpack_device__())
    write = np.zeros(3, "int64")
    np.from_dlpack(tvm_ffi.from_dlpack(write))[:] = [1, 2, 3]
    show("written", write)
    show("schema", [tvm_ffi.get_global_func("testing.schema_tensor_view_input")(t)])
    fails("schema wrong", tvm_ffi.get_global_func("testing.schema_id_tensor"), 1)
    show("shape of views", tvm_ffi.get_global_func("testing.make_array_with_tensor")(t)[0].shape)


def streams():
    first, second = tvm_ffi.device("cuda:0"), tvm_ffi.device("cuda:1")
    show("stream", tvm_ffi.get_raw_stream(first), tvm_ffi.get_raw_stream(tvm_ffi.device("cpu")))
    with tvm_ffi.use_raw_stream(first, 4096):
        show("inside", tvm_ffi.get_raw_stream(first), tvm_ffi.get_raw_stream(second))
        with tvm_ffi.use_raw_stream(second, 64):
            with tvm_ffi.use_raw_stream(first, 8192):
                show("both", tvm_ffi.get_raw_stream(first), tvm_ffi.get_raw_stream(second))
            show("one", tvm_ffi.get_raw_stream(first), tvm_ffi.get_raw_stream(second))
    show("after", tvm_ffi.get_raw_stream(first), tvm_ffi.get_raw_stream(second))
    with tvm_ffi.use_raw_stream(tvm_ffi.device("cpu"), 0):
        show("cpu", tvm_ffi.get_raw_stream(tvm_ffi.device("cpu")))
    fails("no stream", tvm_ffi.use_raw_stream, first, "x")


def types():
    """The kinds of arguments that the functions of the testing library accept, and reject."""
    values = [None, True, 3, 2.5, "text", b"bytes", [1, 2], ["a"], {"k": 1}, {"k": "v"}, tvm_ffi.dtype("int8"),
              tvm_ffi.device("cpu:1"),
              tvm_ffi.List([1]), tvm_ffi.Dict({"k": 1}), 2**70, tvm_ffi.Shape([1, 2])]
    names = sorted(str(n) for n in tvm_ffi.registry.list_global_func_names() if n.startswith("testing.schema_id_"))
    for name in names:
        f = tvm_ffi.get_global_func(name)
        for v in values:
            fails(name, f, v)


def modules(*files):
    for file in files:
        m = tvm_ffi.load_module(file)
        show("module", m.kind, m.imports, m.get_property_mask(), m.is_runnable(), m.is_binary_serializable(),
             m.get_write_formats())
        names = ["add_one", "addone", "vadd", "fill", "main", "default_function", "no_such", "fused_add", "scale",
                 "matmul"]
        show("functions", [n for n in names if m.implements_function(n)])
        for name in names:
            fails("get", lambda: type(m.get_function(name)).__name__)
            fails("metadata", m.get_function_metadata, name)
            fails("doc", m.get_function_doc, name)
        fails("attribute", lambda: m.no_such)
        fails("item", lambda: m["no_such"])
        other = tvm_ffi.load_module(file, keep_module_alive=False)
        m.import_module(other)
        show("imported", len(m.imports), m.imports[0].kind, m.imports[0].same_as(other))
        refuses("circle", other.import_module, m)
        m.clear_imports()
        show("cleared", len(m.imports))
        fails("write", m.write_to_file, "/nonexistent/place", "so")
    fails("no file", tvm_ffi.load_module, "/no/such/file.so")
    refuses("no suffix", tvm_ffi.load_module, "/no/such/file")
    s = tvm_ffi.system_lib()
    show("system", s.kind, s.implements_function("no_such"), s.same_as(tvm_ffi.system_lib()))
    show("system prefix", tvm_ffi.system_lib("other").kind)


def kernels(file):
    add = tvm_ffi.load_module(file).get_function("vadd" if "multi" in file else "addone")
    a = tvm_ffi.from_dlpack(np.arange(8, dtype="float32"))
    fails("wrong count", add)
    fails("wrong type", add, 1, 2, 3)
    fails("wrong text", add, "a", "b", "c")
    fails("wrong dtype", add, *[tvm_ffi.from_dlpack(np.zeros(8, "int8"))] * 3)
    fails("wrong shape", add, *[tvm_ffi.from_dlpack(np.zeros((1, 2, 3), "float32"))] * 3)


def run(*files):
    for topic in (tensors, streams, types):
        print("==", topic.__name__)
        topic()
    print("== modules")
    modules(*files)
    for file in files:
        print("== kernels")
        kernels(file)
