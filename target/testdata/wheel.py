"""Prints what Apache TVM's wheel makes of each configuration on standard input: a list of targets or errors."""

import contextlib
import json
import sys

from tvm.target import Target
from tvm_ffi import Array, Map


def value(v):
    if isinstance(v, Target):
        return target(v)
    if isinstance(v, (bool, int, float)):
        return v
    if isinstance(v, (list, tuple, Array)):
        return [value(x) for x in v]
    if isinstance(v, (dict, Map)):
        return {str(k): value(x) for k, x in v.items()}
    return str(v)


def target(t):
    return {
        "kind": str(t.kind.name),
        "tag": str(t.tag),
        "keys": [str(k) for k in t.keys],
        "host": target(t.host) if t.host is not None else None,
        "attrs": {str(k): value(v) for k, v in t.attrs.items()},
    }


def answer(case):
    if isinstance(case, dict) and "$host" in case:
        case, host = case["$target"], case["$host"]
        return lambda: target(Target(case, host))
    return lambda: target(Target(case))


def ask(case):
    try:
        return answer(case)()
    except Exception as e:  # the wheel raises every kind
        return {"error": f"{type(e).__name__}: {e}"}


with contextlib.redirect_stdout(sys.stderr):  # it prints messages
    answers = [ask(case) for case in json.load(sys.stdin)]
json.dump(answers, sys.stdout)
