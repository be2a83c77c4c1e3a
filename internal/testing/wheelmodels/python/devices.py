"""Models for devices other than the CPU. TVM's wheels cannot run them: the results are those of the same module on the
CPU."""

import os

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

import nets
from machines import HERE, target_of
from models import MACHINE, Program, add, random, save


class Placed(Program):
    """A module for a device with its twin for the CPU."""

    def __init__(self, name, module, plain, cases, kinds=("opencl",), graphs=False):
        super().__init__(name, module, cases)
        self.plain, self.kinds, self.graphs = plain, kinds, graphs

    def export(self, writer, pipeline):
        reference = os.path.join(writer.folder, f"{self.name}_reference.so")
        save(relax.build(self.plain, target="llvm", relax_pipeline=pipeline(True)), reference, HERE)
        for kind in self.kinds:
            target = tvm.target.Target(kind, host=target_of("llvm", MACHINE))
            graphs = {"relax.backend.use_cuda_graph": self.graphs}
            with target, tvm.transform.PassContext(config=graphs):
                lowered = relax.get_default_pipeline(target)(relax.transform.RealizeVDevice()(self.module))
            executable = relax.build(lowered, target=target, relax_pipeline=None)
            writer.add(self, kind, executable, devices=[kind, "cpu"], reference=reference)


@I.ir_module
class Heterogeneous:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "opencl"}, 0), I.vdevice({"kind": "llvm"}, 0)]})

    @R.function
    def main(x: R.Tensor(("n", 8), "float32", "opencl:0"), w: R.Tensor((8, 8), "float32", "opencl:0"),
             b: R.Tensor((8,), "float32", "llvm:0")):
        with R.dataflow():
            h = R.nn.relu(R.matmul(x, w))
            c = R.to_vdevice(h, "llvm:0")
            s = R.add(c, b)
            d = R.to_vdevice(s, "opencl:0")
            out = (R.multiply(d, h), s)
            R.output(out)
        return out


@I.ir_module
class Plain:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32")):
        with R.dataflow():
            h = R.nn.relu(R.matmul(x, w))
            s = R.add(h, b)
            out = (R.multiply(s, h), s)
            R.output(out)
        return out


@I.ir_module
class Captured:
    """Kernels between others: only those that touch neither arguments nor results become a CUDA graph."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.softmax(a)
            c = R.matmul(b, w)
            d = R.nn.softmax(c)
            e = R.matmul(d, w)
            R.output(e)
        return e


captured = nets.bound("main", Captured, {"w": random("hw", 8, 8)})
add(Placed("captured", captured, captured, [("main", [random("g", 4, 8)])] * 2, kinds=("cuda",), graphs=True))
add(Placed("device_mlp", nets.MLP, nets.MLP, [
    ("forward", [x, *nets.weights.values()]) for x in nets.batches[:3]], kinds=("opencl", "cuda")))
add(Placed("device_transformer", nets.transformer(), nets.transformer(), [
    ("main", [random("tokens", 1, n, 32), nets.causal(n)]) for n in (1, 7, 33)]))
add(Placed("heterogeneous", Heterogeneous, Plain, [
    ("main", [random("hx", n, 8), random("hw", 8, 8), random("hb", 8)]) for n in (1, 5)]))
