"""Runs one topic of the drop-in test: python check.py TOPIC LIBRARY [ARGUMENT...]

The topic's output is compared line by line between two libraries, so it must not depend on
addresses, on time, or on the words of errors that a library made itself.
"""

import importlib
import os
import sys


def show(label, *values):
    """Prints values as Python writes them."""
    print(label, *[repr(v) for v in values])


def fails(label, call, *args, **kwargs):
    """Prints the kind of error that a call raises, without its message, which depends on the library."""
    try:
        result = call(*args, **kwargs)
    except Exception as e:
        print(label, "raises", type(e).__name__)
    else:
        print(label, "gives", repr(result))


def refuses(label, call, *args, **kwargs):
    """Prints whether a call raises an error, if the library may choose its kind."""
    try:
        result = call(*args, **kwargs)
    except Exception:
        print(label, "is refused")
    else:
        print(label, "gives", repr(result))


def says(label, call, *args, **kwargs):
    """Prints an error with its message, if the message comes from the test or from the package."""
    try:
        result = call(*args, **kwargs)
    except Exception as e:
        print(label, "raises", type(e).__name__, str(e).splitlines())
    else:
        print(label, "gives", repr(result))


def library_in_use():
    """The files of tvm-ffi libraries, or of libtvmgo under its own name, that this process has mapped."""
    names = ("libtvm_ffi.so", "libtvmgo.so")
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split()) > 5}
    return sorted(p for p in paths if os.path.basename(p).startswith(names))


def main():
    topic, library, *args = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import tvm_ffi  # noqa: F401

    used = [os.path.realpath(p) for p in library_in_use()]
    assert used == [os.path.realpath(library)], f"{used} in use, not {library}"
    importlib.import_module("dropin_" + topic).run(*args)
    used = [os.path.realpath(p) for p in library_in_use()]
    assert used == [os.path.realpath(library)], f"{used} in use, not {library}"
    print("ok")


if __name__ == "__main__":
    main()
