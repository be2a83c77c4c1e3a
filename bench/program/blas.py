"""Measures NumPy, whose matrix products are computed by OpenBLAS: reads names of rows, one per line, and prints the
nanoseconds per operation of each, the best of a few batches."""
import sys
import time

import numpy as np

BATCHES = 5
rng = np.random.default_rng(1)


def matmul(m, n, k):
    a, b = (rng.random(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    out = np.empty((m, n), np.float32)
    return lambda: np.matmul(a, b, out=out)


def conv2d(channels, size):
    """A 3×3 convolution, padded with zeros, with as many filters as channels: it copies the windows into a matrix and
    computes one matrix product."""
    x = rng.random((channels, size, size), dtype=np.float32)
    w = rng.random((channels, channels * 9), dtype=np.float32)
    padded = np.zeros((channels, size + 2, size + 2), np.float32)
    windows = np.empty((channels, 3, 3, size, size), np.float32)
    out = np.empty((channels, size * size), np.float32)

    def run():
        padded[:, 1:-1, 1:-1] = x
        for p in range(3):
            for q in range(3):
                windows[:, p, q] = padded[:, p:p + size, q:q + size]
        np.matmul(w, windows.reshape(channels * 9, size * size), out=out)

    return run


def prepare(name):
    """A row: conv2d, matmul-N, or matmul-MxNxK."""
    kind, _, sizes = name.partition("-")
    if kind == "conv2d":
        return conv2d(64, 56)
    numbers = [int(n) for n in (sizes or "1024").split("x")]
    return matmul(*(numbers if len(numbers) == 3 else numbers * 3))


known = {}
sample_ns = int(sys.argv[1])


def batch(run, n):
    start = time.perf_counter_ns()
    for _ in range(n):
        run()
    return time.perf_counter_ns() - start


for line in sys.stdin:
    name = line.strip()
    if name not in known:
        run, n = prepare(name), 1
        while batch(run, n) < sample_ns / BATCHES:
            n *= 2
        known[name] = run, n
    run, n = known[name]
    print(min(batch(run, n) for _ in range(BATCHES)) / n, flush=True)
