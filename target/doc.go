// Package target describes the target of code generation: a kind of code generator (cuda, llvm, opencl, …) and the
// values of its options. A [Target] contains everything that affects the generated module, and nothing else. It queries
// a device only if from_device is set, and does not depend on any code generator.
//
// [New] makes a target from a tag ("nvidia/h100"), the name of a kind ("cuda"), a command line ("cuda -arch=sm_90"),
// JSON, or a Go map. Targets are immutable, and can be used by several goroutines.
//
// [RegisterKind] declares what a kind accepts: options with types and defaults, keys, a parser. Packages that use
// targets attach values to a kind with [SetAttr]: passes, a partitioner, a code generator. [RegisterTag] adds names for
// complete targets.
//
// A composite target has members, for example a CPU and an accelerator. Package target/partition divides a graph of
// operations among them; internal/testing/byoctest/dnnl is an example of a kind with its own partitioner and code
// generator, in one file.
package target
