//go:build !runtimeonly

package main

import (
	_ "tvmgo/codegen/all"             // codegen.Build, and target.build.<kind> of each kind
	_ "tvmgo/export"                  // its global functions: runtime.ModulePackImports, …
	_ "tvmgo/internal/compilecommand" // tvmgo.compile
)
