"""Runs compiled models in Apache TVM's virtual machine: machine.py FOLDER, whose tests have a file model.so each."""
import pathlib
import sys

import numpy as np
import onnx
import tvm
from onnx import numpy_helper
from tvm import relax

failed = []


def read(folder, kind):
    k = 0
    while (folder / f"{kind}_{k}.pb").exists():
        yield numpy_helper.to_array(onnx.load_tensor(str(folder / f"{kind}_{k}.pb")))
        k += 1


def check(path):
    graph = onnx.load(str(path / "model.onnx")).graph
    constants = {t.name for t in graph.initializer}
    vm = relax.VirtualMachine(tvm.runtime.load_module(str(path / "model.so")), tvm.cpu())
    for folder in sorted(path.glob("test_data_set_*")):
        inputs = [x for i, x in zip(graph.input, read(folder, "input")) if i.name not in constants]
        got = vm["main"](*[tvm.runtime.tensor(x) for x in inputs])
        got = [got] if isinstance(got, tvm.runtime.Tensor) else list(got)
        want = list(read(folder, "output"))
        assert len(got) == len(want), f"{len(got)} results: want {len(want)}"
        for k, (g, w) in enumerate(zip(got, want)):
            g = g.numpy()
            same = g.dtype == w.dtype and g.shape == w.shape
            assert same, f"result {k} is {g.dtype}{g.shape}: want {w.dtype}{w.shape}"
            assert np.allclose(g, w, rtol=1e-3, atol=1e-3, equal_nan=True), f"result {k} is {g}: want {w}"


for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    if not (path / "model.so").exists():
        continue
    try:
        check(path)
        print("ok", path.name)
    except Exception as e:
        failed.append(path.name)
        print("FAIL", path.name, str(e).strip()[-600:].replace("\n", " "))
if failed:
    sys.exit(f"{len(failed)} models fail: {failed}")
