// Package target describes what code is generated for: a kind of code generator (cuda, llvm, opencl, …) and the values
// of its options. A [Target] says everything that changes the generated module and nothing else; it asks no device,
// unless from_device tells it to, and knows no code generator.
//
// A target is made by [New] from a tag ("nvidia/h100"), the name of a kind ("cuda"), a command line ("cuda
// -arch=sm_90"), JSON, or a Go map. It never changes afterwards, and may be used by many goroutines.
//
// What a kind accepts is declared once, by [RegisterKind]: typed options with defaults, keys, a parser. Whoever builds
// on targets attaches values of its own to a kind with [SetAttr]: passes, a partitioner, a code generator. Names for
// whole targets are added by [RegisterTag].
//
// A composite target has members, as a system of a CPU and an accelerator has. Package target/partition divides a graph
// of operations among them; internal/testing/byoctest/dnnl is a kind with a partitioner and a code generator of its
// own, in one file.
package target
