"""Writes random models with the results of onnxruntime, in ONNX's own test layout: generate.py FOLDER SEED COUNT
[OPERATOR ...]. generate.py --list prints the operators."""
import os
import pathlib
import random
import shutil
import signal
import sys
import traceback

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, RuntimeException

from builder import SIZES, Builder, Skip, info, model_of, session
import images  # noqa: F401: makers register themselves
import quantize  # noqa: F401
import sequences  # noqa: F401
from layers import grow
from operators import makers

NEWEST = 27


def shape_of(v, dynamic):
    names = {sizes[0]: name for name, sizes in SIZES.items()}
    return [names.get(n, n) if dynamic else n for n in v.shape]


def resized(array, k):
    """The data of an input in data set k."""
    sizes = {s[0]: s[k] for s in SIZES.values()}
    shape = [sizes.get(n, n) for n in array.shape]
    grown = np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    return np.array(grown, array.dtype)


def build(seed, wanted):
    rng = random.Random(seed)
    dynamic = rng.random() < 0.4
    first = min(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == wanted and not s.domain)
    opsets = range(max(7, first), NEWEST + 1)
    b = Builder(rng, rng.choice(([13] if 13 in opsets else []) + [*opsets]), dynamic)
    n, names = rng.choice([1, 2, 4, 8]), list(makers)
    queue = [wanted]
    for _ in range(60):
        op = queue.pop() if queue else rng.choice(names)
        try:
            grow(b, op)
            n -= 1
        except Skip:
            pass
        if n == 0:
            break
    made = [v for v in b.values if v.name not in b.inputs]
    if not made:
        raise Skip
    read = {i for node in b.nodes for i in node.input}
    outs = [v for v in made if v.name not in read or rng.random() < 0.2]
    if rng.random() < 0.1:
        outs.append(b.by_name[rng.choice(b.inputs)] if b.inputs else outs[0])
    outs = list({v.name: v for v in outs}.values())
    inputs = [info(b.by_name[i], shape_of(b.by_name[i], dynamic)) for i in b.inputs]
    if b.opset < 9 or rng.random() < 0.05:
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in b.initializers]
    if rng.random() < 0.2:
        b.constant(np.float32(1))  # that no node reads
    types = [info(v) if rng.random() < 0.5 or dynamic else info(v, v.shape) for v in outs]
    g = helper.make_graph(b.nodes, "random", inputs, types, b.initializers)
    return b, model_of(g, b.opset), [v.name for v in outs], rng.random() < 0.5


def data(path, b, model, outs, optimize, feed):
    got = session(model, optimize).run(outs, feed)
    path.mkdir()
    for kind, arrays in (("input", [feed[i] for i in b.inputs]), ("output", got)):
        for k, a in enumerate(arrays):
            path.joinpath(f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(a).SerializeToString())
    return all(a.dtype.kind != "f" or np.all(np.abs(a) <= 1000) for a in got)


def write(folder, seed, wanted):
    b, model, outs, optimize = build(seed, wanted)
    path = folder / f"{seed}_{wanted}"
    path.mkdir()
    onnx.save(model, path / "model.onnx")
    feeds = [{i: b.by_name[i].array for i in b.inputs}]
    if b.dynamic:
        feeds += [{i: resized(b.by_name[i].array, k) for i in b.inputs} for k in range(1, 4)]
    for k, feed in enumerate(feeds):
        where = path / f"test_data_set_{k}"
        try:
            if data(where, b, model, outs, optimize, feed):
                continue
        except (Fail, InvalidArgument, RuntimeException):  # such as sizes that are equal in the first set only
            if k < 2:
                raise Skip
        if k < 2:
            raise Skip
        shutil.rmtree(where, ignore_errors=True)
    return True


def isolated(folder, seed, wanted):
    """Writes a model in a child process: onnxruntime ends the process for some models."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)  # onnxruntime may also hang
        try:
            os._exit(0 if write(folder, seed, wanted) else 1)
        except (Skip, Fail, InvalidArgument, RuntimeException):
            os._exit(1)  # such as sizes that were equal by chance, and are not in the second data set
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    _, status = os.waitpid(child, 0)
    if status != 0:
        shutil.rmtree(folder / f"{seed}_{wanted}", ignore_errors=True)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) > 1:
        sys.exit(f"model {seed} of {wanted} cannot be made")
    return status == 0


def main():
    if sys.argv[1] == "--list":
        print(*makers)
        return
    folder, seed, count = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    only = sys.argv[4:]
    names = only or list(makers)
    random.Random(seed).shuffle(names)
    made = k = 0
    while made < count and k < 20 * count:
        made += isolated(folder, seed * 100000 + k, names[k % len(names)])
        k += 1
    if made < count:
        sys.exit(f"only {made} of {count} models could be made")


main()
