"""Programs: modules of relax or of the ExecBuilder, with their cases; and the ways to compile them."""

import importlib
import os
import zlib

import numpy as np
import tvm
from tvm import relax

from machines import HERE, linker, target_of

# Names of ways to compile: target, execution mode, memory planning. TVM's C generator cannot compile VM functions: it
# does not declare what they call, and with declarations TVM's own machine crashes in them.
WAYS = {
    "llvm": ("llvm", "bytecode", True),
    "llvm_unplanned": ("llvm", "bytecode", False),
    "llvm_compiled": ("llvm", "compiled", True),
    "c": ("c", "bytecode", True),
}

PARTS = ("nets", "control", "values", "devices", "bytecode", "odd")

# The machine that the libraries are for, as GNU names it ("aarch64-linux-gnu"). Their results are computed here.
MACHINE = os.environ.get("WHEELMODELS_MACHINE") or HERE

_programs = []


def save(executable, path, machine):
    """Links an executable for a machine: by the compiler in PATH, unless libraries for two machines are made."""
    link = None if MACHINE == HERE else linker(machine)
    executable.export_library(path, fcompile=link, options=["-O1", "-Wl,--no-as-needed", "-lm"])


def build_for(writer, program, way, build, **more):
    """Adds what build returns for a target; build is called again for this machine if the libraries are for another."""
    here = None
    if MACHINE != HERE:
        here = os.path.join(writer.folder, f"{program.name}_{way}_here.so")
        save(build(HERE), here, HERE)
    writer.add(program, way, build(MACHINE), here=here, **more)


class Program:
    """A module with its cases: pairs of a function's name and its arguments."""

    named = True  # functions have names of parameters

    def __init__(self, name, module, cases, ways=("llvm", "llvm_compiled", "c")):
        self.name, self.module, self.cases, self.ways = name, module, cases, ways

    def export(self, writer, pipeline):
        for way in self.ways:
            target, mode, planned = WAYS[way]
            build_for(writer, self, way, lambda machine: relax.build(
                self.module, target=target_of(target, machine), exec_mode=mode, relax_pipeline=pipeline(planned)))


def program(*args, **more):
    """Adds a program."""
    _programs.append(Program(*args, **more))


def add(p):
    """Adds a program of another class."""
    _programs.append(p)


def programs():
    for part in PARTS:
        importlib.import_module(part)
    return _programs


def random(name, *shape, dtype="float32"):
    """Values that depend on the name and the shape alone; numbers are between -1 and 1, integers small."""
    rng = np.random.default_rng(zlib.crc32(f"{name}{shape}{dtype}".encode()))
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind == "u":
        return rng.integers(0, 12, shape).astype(dtype)
    if kind == "i":
        return rng.integers(-11, 12, shape).astype(dtype)
    return rng.uniform(-1, 1, shape).astype(dtype)


def constant(name, *shape, dtype="float32"):
    return relax.const(random(name, *shape, dtype=dtype), dtype)


def lifted(module):
    """The module with its local functions as closures of global ones."""
    return relax.transform.LambdaLift()(module)
