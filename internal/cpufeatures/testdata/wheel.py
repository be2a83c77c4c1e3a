"""Queries LLVM and the targets of Apache TVM's wheel: reads queries as JSON from standard input, prints the results."""
import json
import sys

import tvm
from tvm.target import Target

features = tvm.get_global_func("target.llvm_get_cpu_features")
cpus = tvm.get_global_func("target.llvm_get_cpu_archlist")
valid = tvm.get_global_func("target.llvm_is_valid_cpu")


def target(q):
    config = {"kind": q.get("kind", "llvm")}
    for option, name in ("triple", "mtriple"), ("cpu", "mcpu"), ("attrs", "mattr"):
        if q.get(option):
            config[name] = q[option]
    return Target(config)


def arm(q):
    config = json.loads(str(target(q)))
    has = {k.removeprefix("feature."): v for k, v in config.items() if k.startswith("feature.")}
    return {"keys": config["keys"], "has": has}


asks = {
    "features": lambda q: " ".join(sorted(str(f) for f in features(target(q)))),
    "cpus": lambda q: sorted(str(c) for c in cpus(target(q))),
    "valid": lambda q: bool(valid(q.get("cpu", ""), q["triple"])),
    "arm": arm,
}

if __name__ == "__main__":
    json.dump([asks[q["ask"]](q) for q in json.load(sys.stdin)], sys.stdout)
