"""A backtrace below a Python callback: it contains the names of local C++ functions and the frames above the callback,
but not the frames of the library itself.

backtrace.py LIBRARY BACKTRACE_SO
"""

import ctypes
import sys

import abi

ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
library = abi.Library(sys.argv[1])
frames = ctypes.CDLL(sys.argv[2])
frames.last_backtrace.restype = ctypes.c_char_p
leaf = library.function(ctypes.c_void_p.in_dll(frames, "leaf_function"))
above = library.function(ctypes.c_void_p.in_dll(frames, "above_function"))


def back(self, args, n, result):
    leaf()
    return 0


body = abi.SafeCall(back)
callback = library.function(body)


def lines(cross):
    frames.set_callback(ctypes.c_void_p(callback.handle), cross)
    above()
    return frames.last_backtrace().decode().splitlines()


for cross in (0, 1, 0):
    got = lines(cross)
    assert got[0] == '  File "leaf.cc", line 7, in leaf', got
    assert sum("in inner::above(void*, TVMFFIAny const*, int, TVMFFIAny*)+0x" in line for line in got) == 1, got
    assert not any("libtvmgo" in line for line in got), got
    if cross == 0:
        assert not any("libpython" in line for line in got), got
print("ok")
