"""Writes the tables of CPU features, from the LLVM in Apache TVM's wheel: tables.py FOLDER

One file for each family of architectures: text compressed with gzip, lines of words separated by spaces:
  feature NAME IMPLIED...   a feature and those that it enables directly; in the order of the bits of the cpu lines
  cpu NAME BITS             a CPU and, as a hexadecimal number, its features that no other of its features enables
  alias NAME CPU            another name of a CPU, which LLVM accepts but does not list
  arch NAME FEATURE...      arm: a version of the architecture in a triple, and what it enables for the CPU "generic"
"""
import gzip
import os
import re
import subprocess
import sys

# A triple that adds no features to a CPU, except the named ones.
FAMILIES = {
    "x86": ("i386-unknown-linux-gnu", {"32bit-mode"}),
    "aarch64": ("aarch64-unknown-linux-gnu", set()),
    "arm": ("arm-unknown-linux-gnueabi", set()),
    "riscv": ("riscv64-unknown-linux-gnu", set()),
}

# Possible versions of the architecture after "arm" or "thumb" in a triple; LLVM reports which of them it knows.
ARM_ARCHITECTURES = """
  xscale v2 v2a v3 v3m v4 v4t v5 v5t v5e v5te v5tej v6 v6j v6k v6hl v6t2 v6z v6zk v6kz v6m v6sm v7 v7a v7l v7hl v7ve
  v7r v7m v7em v7s v7k v8 v8a v8l v8r v8m.base v8m.main v8.1m.main v8.1a v8.2a v8.3a v8.4a v8.5a v8.6a v8.7a
  v8.8a v8.9a v9 v9a v9.1a v9.2a v9.3a v9.4a v9.5a v9.6a v9.7a
""".split()


class LLVM:
    def __init__(self, triple):
        import tvm
        from tvm.target import Target

        self.Target, self.triple = Target, triple
        self.features_of = tvm.get_global_func("target.llvm_get_cpu_features")
        self.cpus_of = tvm.get_global_func("target.llvm_get_cpu_archlist")
        self.is_cpu = tvm.get_global_func("target.llvm_is_valid_cpu")

    def target(self, cpu, attrs=(), triple=None):
        return self.Target({"kind": "llvm", "mtriple": triple or self.triple, "mcpu": cpu, "mattr": list(attrs)})

    def features(self, *args, **kwargs):
        return set(str(f) for f in self.features_of(self.target(*args, **kwargs)))

    def cpus(self):
        return sorted(str(c) for c in self.cpus_of(self.target("generic")))


def names(triple):
    """All features of an architecture. LLVM prints them as help, once per process."""
    script = ("import sys; sys.path.insert(0, sys.argv[1]); import tables; "
              "tables.LLVM(sys.argv[2]).features('generic', ['+help'])")
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([sys.executable, "-B", "-c", script, here, triple], capture_output=True, text=True, check=True)
    text = run.stderr[run.stderr.index("Available features"):]
    found = [line.split(" - ")[0].strip() for line in text.splitlines() if line.startswith("  ") and " - " in line]
    assert len(found) > 50 and len(set(found)) == len(found), found
    return sorted(found)


def words():
    """Texts in the library that may be aliases of CPUs: LLVM accepts aliases, but does not list them."""
    import tvm

    with open(os.path.join(os.path.dirname(tvm.__file__), "lib", "libtvm_compiler.so"), "rb") as f:
        found = re.findall(rb"[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?=\0)", f.read())
    return sorted({w.decode() for w in found if 1 < len(w) <= 20})


def reduced(wanted, closures):
    """The smallest subset of wanted that enables all of wanted."""
    return {f for f in wanted if not any(f in closures[g] for g in wanted if g != f)}


def table(triple, added, words):
    llvm = LLVM(triple)
    features = names(triple)
    nothing = ["-" + f for f in features]
    assert not llvm.features("generic", nothing)
    closures = {f: llvm.features("generic", nothing + ["+" + f]) for f in features}
    for f in features:
        assert f in closures[f], f
        assert not any(f in closures[g] for g in closures[f] - {f}), "two features imply each other: " + f
        yield " ".join(["feature", f, *sorted(reduced(closures[f] - {f}, closures))])
    cpus = {cpu: llvm.features(cpu) - added for cpu in llvm.cpus()}
    for cpu, has in cpus.items():
        yield "cpu %s %x" % (cpu, sum(1 << features.index(f) for f in reduced(has, closures)))
    for word in words:
        if word not in cpus and llvm.is_cpu(word, triple):
            has = llvm.features(word) - added
            yield "alias %s %s" % (word, next(cpu for cpu in cpus if cpus[cpu] == has))
    if triple.startswith("arm-"):
        for version in ARM_ARCHITECTURES:
            name = ("arm" if version[0] == "v" else "") + version + "-unknown-linux-gnueabi"
            if llvm.is_cpu("generic", name):
                yield " ".join(["arch", version, *sorted(reduced(llvm.features("generic", triple=name), closures))])


def main():
    import tvm

    major = tvm.get_global_func("target.llvm_version_major")()
    found = words()
    for family, (triple, added) in FAMILIES.items():
        lines = list(table(triple, added, found))
        text = "\n".join(["# LLVM %d" % major, *lines]) + "\n"
        with open(os.path.join(sys.argv[1], family + ".gz"), "wb") as f:
            f.write(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
