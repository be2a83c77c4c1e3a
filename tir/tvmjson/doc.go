// Package tvmjson reads programs of Apache TVM: the JSON that tvm.ir.save_json(mod) writes for a module with PrimFuncs,
// of TVM up to v0.21 and of TVM with tvm-ffi. [Unmarshal] makes loops of package tir of them:
//
//   - A block is gone: its variables are replaced by their bindings, its predicate becomes a condition, and its init
//     statement is executed in the first iteration of the reduction.
//   - The memory of a block is allocated in the smallest statement around all accesses, but outside of the loops of a
//     reduction or another axis whose iterations depend on each other. So memory in scope "shared" and "local" is
//     where threads need it, whichever block declares it.
//   - A buffer that a block matches with a region of another one becomes accesses to that one.
//   - A reduction whose loops are bound to threadIdx becomes parts of threads, which they combine in shared memory.
//   - A loop over threads inside one over the same threads is that one.
//
// What a schedule says about performance alone (annotations, alignment of storage, pipelines) is dropped.
package tvmjson
