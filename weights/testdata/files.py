"""Reads the files in the folder argv[1] and writes the same tensors with TVM and NumPy into argv[2]."""
import sys

import numpy as np
import tvm
from tvm.contrib import tvmjs

given, made = sys.argv[1:]
params = tvm.runtime.load_param_dict_from_file(f"{given}/all.params")
tvm.runtime.save_param_dict_to_file(params, f"{made}/all.params")

arrays = np.load(f"{given}/all.npz")
np.savez(f"{made}/all.npz", **arrays)
np.savez_compressed(f"{made}/compressed.npz", **arrays)
one = np.load(f"{given}/one.npy", mmap_mode="r")
np.save(f"{made}/one.npy", np.asfortranarray(one))

for encode in ("raw", "f32-to-bf16"):
    tvmjs.dump_tensor_cache(params, f"{made}/{encode}", encode_format=encode, show_progress=False, shard_cap_mb=1,
                            meta_data={"ParamSize": len(params)})
    cache, _ = tvmjs.load_tensor_cache(f"{made}/{encode}", tvm.cpu())
    tvm.runtime.save_param_dict_to_file(cache, f"{made}/{encode}.params")
