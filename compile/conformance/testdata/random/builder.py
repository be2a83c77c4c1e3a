"""Builds random ONNX models node by node. onnxruntime computes each node at once, so that all values are known."""
import random

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

FLOATS = [np.float32, np.float64]
ANY_FLOATS = FLOATS * 2 + [np.float16]
INTS = [np.int64, np.int32, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64]
LIMIT = 100  # of the values of floats, so that errors stay small
# Symbolic dimensions, and their sizes in the data sets. The sets behind the first two may be left out.
SIZES = {"n": (7, 1, 4, 0), "m": (11, 13, 2, 5)}
# Operators whose results have sizes that depend on elements, and operators for which sizes must be known to be equal.
OPEN = ["NonZero", "Compress", "Unique", "If", "Loop", "Scan", "NonMaxSuppression"]
STRICT = ["Einsum", "ScatterND", "ScatterElements", "Flatten", "Reshape"]


class Skip(Exception):
    """The node cannot be made here."""


def is_exact(array):
    """Whether halves that were computed alike have no rounding; others have 23 bits and more."""
    return array.dtype != np.float16 or array.size == 0 or bool(np.all(np.abs(array) <= 64) and
                                                                np.all(array * 8 == np.round(array * 8)))


class Value:
    """A tensor with the elements that it has in the first data set."""

    def __init__(self, name, array, exact, open=False, proto=None):
        self.name, self.array, self.exact = name, array, exact
        self.open = open  # its sizes depend on elements
        self.proto = proto  # of a constant

    shape = property(lambda self: self.array.shape)
    rank = property(lambda self: self.array.ndim)
    dtype = property(lambda self: self.array.dtype)


def elem(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def session(model, optimize=False):
    o = ort.SessionOptions()
    o.log_severity_level = 4
    o.intra_op_num_threads = 1
    if not optimize:
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])


def free_names(node):
    """The names that the bodies of a node read from the graph around it."""
    names = set()
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            own = {i.name for i in a.g.input} | {i.name for i in a.g.initializer}
            for n in a.g.node:
                names |= (set(n.input) | free_names(n)) - own
                own |= set(n.output)
            names |= {o.name for o in a.g.output} - own
    return names - {""}


class Builder:
    """A graph that is being built: a model, or a body in another one (outer)."""

    def __init__(self, rng, opset, dynamic=False, outer=None):
        self.rng, self.opset, self.dynamic, self.outer = rng, opset, dynamic, outer
        self.values, self.nodes, self.initializers, self.inputs = [], [], [], []
        self.root = outer.root if outer else self
        self.depth = outer.depth + 1 if outer else 0
        if not outer:
            self.count, self.by_name = 0, {}

    def name(self, prefix="v"):
        self.root.count += 1
        return f"{prefix}{self.root.count}"

    def visible(self):
        return self.values + (self.outer.visible() if self.outer else [])

    def keep(self, name, array, exact, open=False):
        v = Value(name, array, exact, open)
        self.values.append(v)
        self.root.by_name[name] = v
        return v

    def random(self, dtype, shape, low=None, high=None):
        """Random elements; floats are multiples of 1/8, so that sums are exact."""
        dtype = np.dtype(dtype)
        g = np.random.default_rng(self.rng.randrange(1 << 32))
        if dtype == np.bool_:
            return g.integers(0, 2, shape).astype(dtype)
        if dtype.kind == "f":
            low, high = (-3, 3) if low is None else (low, high)
            return (g.integers(int(low * 8), int(high * 8) + 1, shape) / 8).astype(dtype)
        if low is None:
            low, high = (0 if dtype.kind == "u" else -9), 9
        return g.integers(low, high + 1, shape).astype(dtype)

    def constant(self, array):
        """A constant operand: an initializer, or the result of a node."""
        array = np.asarray(array)
        name = self.name("c")
        t = numpy_helper.from_array(array, name)
        if self.rng.random() < 0.3:
            self.nodes.append(helper.make_node("Constant", [], [name], value=t))
        else:
            self.initializers.append(t)
        v = Value(name, array, True, proto=t)
        self.root.by_name[name] = v
        return v

    def input(self, array):
        """A new input of the model."""
        name = self.root.name("x")
        self.root.inputs.append(name)
        return self.root.keep(name, array, True)

    def fresh(self, dtype, shape, low=None, high=None):
        """A new tensor of a shape: an input or a constant."""
        array = self.random(dtype, shape, low, high)
        variable = self.root.dynamic and any(n in [s[0] for s in SIZES.values()] for n in shape)
        if variable or self.rng.random() < 0.4:
            return self.input(array)
        return self.constant(array)

    def shape(self, rank=None, most=6):
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]) if rank is None else rank
        out = []
        for _ in range(rank):
            if self.root.dynamic and self.rng.random() < 0.35:
                out.append(SIZES[self.rng.choice("nm")][0])
            else:
                out.append(self.rng.choice([1, 2, 3, 4, 5, most]) if self.rng.random() < 0.96 else 0)
        return tuple(out)

    def pick(self, dtypes=None, rank=None, want=None, exact=False):
        """A value that exists, or a new input."""
        dtypes = FLOATS[:1] if dtypes is None else dtypes
        ranks = rank if isinstance(rank, (list, range, type(None))) else [rank]
        found = [v for v in self.visible()[-14:] if v.dtype in [np.dtype(d) for d in dtypes]
                 and (ranks is None or v.rank in ranks) and (want is None or want(v))
                 and (v.exact or not exact and v.dtype != np.float16)]
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found)
        v = self.fresh(self.rng.choice(dtypes), self.shape(None if ranks is None else self.rng.choice(list(ranks))))
        if want is not None and not want(v):
            raise Skip
        return v

    def like(self, v, shape=None, low=None, high=None):
        """A value of the type of another one, and of its shape or one that broadcasts with it."""
        if shape is None:
            found = [w for w in self.visible() if w.dtype == v.dtype and w.shape == v.shape
                     and (w.exact or w.dtype != np.float16)]
            if found and self.rng.random() < 0.5 and low is None:
                return self.rng.choice(found)
            shape = tuple(n if self.rng.random() < 0.75 else 1 for n in v.shape)[self.rng.choice([0, 0, 0, 1, 2]):]
            if self.rng.random() < 0.1:
                shape = (self.rng.choice([1, 2]),) * (len(v.shape) < 5) + v.shape
        return self.fresh(v.dtype, shape, low, high)

    def add(self, op, inputs, outputs=1, exact=False, **attrs):
        """Adds a node, and returns its results. exact: they have no rounding if the operands have none."""
        open = any(i is not None and i.open for i in inputs) or op in OPEN
        if open and op in STRICT:
            raise Skip
        names = ["" if i is None else i.name for i in inputs]
        node = helper.make_node(op, names, [self.name() for _ in range(outputs)], name=self.name("node"),
                                **{k: v for k, v in attrs.items() if v is not None})
        arrays = self.run([node])
        for a in arrays:
            if a.size > 4000 or a.ndim > 6 or a.dtype.kind == "f" and not np.all(np.abs(a) <= LIMIT) \
                    or a.dtype.kind in "iu" and a.size and (int(a.max()) > 1 << 20 or int(a.min()) < -(1 << 20)):
                raise Skip
        exact = exact and all(i is None or i.exact for i in inputs)
        self.nodes.append(node)
        names = [o for o in node.output if o]
        return [self.keep(n, a, a.dtype.kind in "iub" or exact and is_exact(a), open) for n, a in zip(names, arrays)]

    def chain(self, parts):
        """Adds nodes, each an operator, its operands and its attributes; None is the result of the one before. Returns
        the result of the last one: the others may have types that onnxruntime does not return."""
        nodes, last = [], None
        for op, inputs, attrs in parts:
            out = self.name()
            nodes.append(helper.make_node(op, [last if i is None else i.name for i in inputs], [out],
                                          name=self.name("node"), **attrs))
            last = out
        array, = self.run(nodes)
        self.nodes += nodes
        return [self.keep(last, array, True)]

    def run(self, nodes):
        """The results of nodes for values that exist."""
        names, done = [], set()
        for n in nodes:
            names += [i for i in list(n.input) + sorted(free_names(n)) if i and i not in names and i not in done]
            done |= set(n.output)
        known = self.root.by_name
        given = [i for i in names if known[i].proto is None]
        inputs = [helper.make_tensor_value_info(i, elem(known[i].dtype), known[i].shape) for i in given]
        outs = [o for o in nodes[-1].output if o]
        g = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=o) for o in outs],
                              [known[i].proto for i in names if known[i].proto is not None])
        if self.opset < 9:
            g.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in g.initializer)
        try:
            return session(model_of(g, self.opset)).run(outs, {i: known[i].array for i in given})
        except Exception as e:  # onnxruntime has no code for this type, or the operands are wrong
            self.root.refused = str(e)
            raise Skip

    def graph(self, name, inputs, outputs):
        """The graph of a body."""
        return helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)


def info(v, shape=None):
    return helper.make_tensor_value_info(v.name, elem(v.dtype), shape)


def model_of(g, opset):
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], producer_name="random")
    m.ir_version = {True: 4, False: 10}[opset < 9]
    if opset > 22:
        m.ir_version = 12 if opset < 25 else 13
    return m
