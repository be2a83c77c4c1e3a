"""Calls a function that calls those of another part of its library: split.py FILE."""
import os
import sys

os.environ["TVM_USE_RUNTIME_LIB"] = "1"

import numpy as np
import tvm
import tvm_ffi

m = tvm_ffi.load_module(sys.argv[1])
x = tvm.runtime.tensor(np.ones(4, dtype="float32"))
m["top"](x)
print(*x.numpy())
