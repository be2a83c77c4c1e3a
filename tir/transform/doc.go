// Package transform contains the passes between lowering (package te) and code generation (package codegen), and the
// pipelines that put them in order: [ForEvery], [ForHost] and [ForDevice]. The comment of a pass describes what it
// requires, what it guarantees and what it rejects; its [Step] in pipeline.go names the passes that it has to follow.
//
// Package transform imports no device and no generator.
package transform
