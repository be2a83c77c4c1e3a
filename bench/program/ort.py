"""Measures a model on the CPU provider of ONNX Runtime, as model.c measures ours; see there. MODEL.onnx is the model.
TVM_NUM_THREADS is the number of threads on both sides."""
import os
import sys
import time

import numpy as np
import onnxruntime as ort

BATCHES, RUNS = 5, 10
TYPES = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


def peak():
    """The most memory of this process so far, in bytes."""
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))


class Model:
    def __init__(self, base):
        options = ort.SessionOptions()
        options.intra_op_num_threads = int(os.environ["TVM_NUM_THREADS"])
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(base + ".onnx", options, providers=["CPUExecutionProvider"])
        # Inputs and outputs are bound once, so that a run converts nothing.
        self.bound = self.session.io_binding()
        for i, value in enumerate(self.session.get_inputs()):
            x = np.fromfile(f"{base}.{i}.bin", TYPES[value.type]).reshape(value.shape)
            self.bound.bind_ortvalue_input(value.name, ort.OrtValue.ortvalue_from_numpy(x))
        for value in self.session.get_outputs():
            self.bound.bind_output(value.name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.bound)


def time_of(model, n):
    start = time.perf_counter_ns()
    for _ in range(n):
        model.run()
    return time.perf_counter_ns() - start


def settle(pause=0.002):
    """Waits until the threads of this process sleep: they spin for a while after a run."""
    used = time.process_time()
    for _ in range(100):
        before = used
        time.sleep(pause)
        used = time.process_time()
        if used - before <= pause / 10:
            return


def serve(model, sample_ns):
    n = 0
    for _ in sys.stdin:
        if n == 0:
            n = 1
            while time_of(model, n) < sample_ns / BATCHES:
                n *= 2
        best = min(time_of(model, n) for _ in range(BATCHES))
        settle()
        print(best / n, flush=True)


def main(what, base, *rest):
    before = peak()
    start = time.perf_counter_ns()
    model = Model(base)
    if what == "serve":
        serve(model, int(rest[0]))
    elif what == "once":
        model.run()
        with open(rest[0], "wb") as f:
            for y in model.bound.copy_outputs_to_cpu():
                f.write(y.tobytes())
    elif what == "first":
        model.run()
        print(time.perf_counter_ns() - start)
    else:
        for _ in range(RUNS):
            model.run()
        print(peak() - (before if what == "more" else 0))


main(*sys.argv[1:])
