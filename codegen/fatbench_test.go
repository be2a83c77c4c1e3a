package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// BenchmarkFat calls a function of a fat library that selects its variant, and the variant by its own name. The C
// program of bench measures the same without the passage from Go to C.
func BenchmarkFat(b *testing.B) {
	m, err := fatBuild(b, fatProgram, "c", nameKind(b, dlpack.Metal, ""))
	require.NoError(b, err)
	defer m.Close()
	x := must.Open(runtime.FromSlice(make([]float32, 4)))(b)
	y := must.Open(runtime.FromSlice(make([]float32, 4)))(b)
	for _, name := range []string{"add", "add__c"} {
		b.Run(name, func(b *testing.B) {
			f := must.Open(m.Function(name))(b)
			call := must.Open(f.Bind(x, y))(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := call.Call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
