package main

import _ "tvmgo/codegen/opencl" // tvmgo build --target opencl
