"""ffi.json.Parse of libtvmgo.so and of Apache TVM's wheel: for valid and for damaged generated texts, both return equal
values or equal errors.

json_peer.py LIBRARY [COUNT [SEED]]
"""

import random
import struct
import sys

import tvm_ffi

import abi

NAMES = ("ffi.json.Parse", "ffi.ReprPrint")
library = abi.Library(sys.argv[1])
ours = [library.get_global(name) for name in NAMES]
theirs = [tvm_ffi.get_global_func(name) for name in NAMES]
count = int(sys.argv[2]) if len(sys.argv) > 2 else 6000
rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)

PIECES = list("[]{},:\"\\u \n\t\r0159-+.eExé/") + [
    '"a"', '"key"', '"\\u00e9"', "\\ud83d", "\\ude00", "\\u12", "\\n", "\\/", "\\b", "\x1f", "\x7f",
    '"longer than seven bytes"',
    "true", "false", "null", "NaN", "Infinity", "-Infinity", "1e308", "1e309", "-1e309", "1e-400",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "2.2250738585072014e-308"]


def space():
    return rng.choice(["", "", " ", "\n", "\t ", "\r\n"])


def number():
    kind = rng.randrange(3)
    if kind == 0:
        most = 10 ** rng.randrange(1, 22)
        return str(rng.randrange(-most, most))
    if kind == 1:
        return repr(rng.uniform(1, 9) * 10.0 ** rng.randrange(-300, 308))
    return "".join(rng.choice("019.-+eE") for _ in range(rng.randrange(1, 7)))


def text(depth=0):
    kind = rng.random()
    if depth > 4 or kind < 0.5:
        leaf = rng.randrange(4)
        if leaf == 0:
            return rng.choice(["null", "true", "false", "NaN", "Infinity", "-Infinity"])
        if leaf < 3:
            return number()
        letters = ["a", "key", "\\n", '\\"', "\\\\", "\\u00e9", "\\ud83d\\ude00", "€", " "]
        return '"' + "".join(rng.choice(letters) for _ in range(rng.randrange(8))) + '"'
    n = rng.randrange(4)
    if kind < 0.75:
        return "[" + ",".join(space() + text(depth + 1) + space() for _ in range(n)) + space() + "]"
    items = (f'{space()}"k{rng.randrange(5)}"{space()}:{space()}{text(depth + 1)}{space()}' for _ in range(n))
    return "{" + ",".join(items) + space() + "}"


def damaged(s):
    at = rng.randrange(len(s) + 1)
    kind = rng.randrange(3)
    if kind == 0:
        return s[:at] + rng.choice(PIECES) + s[at:]
    return s[:at] + s[at + rng.randrange(1, 4):] if kind == 1 else s[:at]


def case():
    kind = rng.random()
    if kind < 0.3:
        return "".join(rng.choice(PIECES) for _ in range(rng.randrange(12)))
    s = text()
    while kind < 0.75 and rng.random() < 0.6:
        s = damaged(s)
    return s


def outcome(parse, show, s):
    """The error kind and message, or the type and the contents of the value."""
    try:
        v = parse(s)
    except Exception as e:
        return "error", getattr(e, "kind", type(e).__name__), getattr(e, "message", str(e))
    if isinstance(v, float):
        return "float", struct.pack("d", v)
    if v is None or isinstance(v, (int, str)):  # a bool is an int
        return "plain", v
    return "object", show(v)


def is_subnormal(o):
    return o[0] == "float" and 0 < abs(struct.unpack("d", o[1])[0]) < sys.float_info.min


accepted = 0
for _ in range(count):
    s = case()
    want, got = outcome(*theirs, s), outcome(*ours, s)
    assert got == want or is_subnormal(got), (s, want, got)  # Stringify writes subnormal numbers
    accepted += got[0] != "error"
assert count / 10 < accepted < count * 9 / 10, accepted
print("ok")
