"""Targets and linkers for this machine and for others, which GNU names as in "aarch64-linux-gnu"."""

import platform

import tvm
from tvm.support import cc

HERE = platform.machine() + "-linux-gnu"


def target_of(kind, machine):
    """A target of the CPU: that of kind llvm names the machine if it is another."""
    return tvm.target.Target({"kind": "llvm", "mtriple": machine}) if kind == "llvm" and machine != HERE else kind


def linker(machine):
    """What export_library takes as fcompile, with Debian's compiler for a machine."""
    compiler = machine + "-g++"
    return cc.cross_compiler(compiler, get_target_triple=cc.get_target_by_dump_machine(compiler))
