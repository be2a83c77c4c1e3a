"""Runs libraries in Apache TVM's virtual machine, and compares their results with recorded ones.

    python modules.py FOLDER saved.zip
"""
import base64
import json
import os
import sys
import zipfile

import numpy as np
import tvm
from tvm import relax


def array(t):
    return np.frombuffer(base64.b64decode(t["Data"]), t["DType"]).reshape(t["Shape"])


def flat(value):
    return [value.numpy()] if hasattr(value, "numpy") else [x for v in value for x in flat(v)]


examples = json.loads(zipfile.ZipFile(sys.argv[2]).read("examples.json"))
for file in sorted(os.listdir(sys.argv[1])):
    name = file.removesuffix(".so")
    vm = relax.VirtualMachine(tvm.runtime.load_module(os.path.join(sys.argv[1], file)), tvm.cpu())
    results = flat(vm["main"](*[tvm.runtime.tensor(array(x)) for x in examples[name]["Inputs"]]))
    for have, want in zip(results, examples[name]["Outputs"], strict=True):
        np.testing.assert_allclose(have, array(want), rtol=1e-4, atol=1e-5, err_msg=name)
    print("ok", name)
