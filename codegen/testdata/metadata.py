"""Prints the metadata of the function scaled in a library: metadata.py FILE."""
import sys

import tvm_ffi
from tvm_ffi.core import TypeSchema

m = tvm_ffi.load_module(sys.argv[1])
print(TypeSchema.from_json_str(m.get_function_metadata("scaled")["type_schema"]))
print(m.get_function_doc("scaled"))
assert m.get_function_doc("plain") is None
