//go:build opencl

package opencl_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/gpuprograms"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir/text"
)

// A program for the CPU and OpenCL is divided by the loops of its functions or by the attribute target. It runs
// directly and from a library.
func TestComposite_CPUAndOpenCL(t *testing.T) {
	need(t)
	device := devices[0]
	for _, soc := range []string{`{"kind": "composite", "devices": ["c", "opencl"]}`,
		`{"kind": "composite", "devices": ["opencl", "c"]}`} {
		before := runtime.Live()
		m := must.Get(text.Parse(gpuprograms.Mixed))(t)
		to := must.Get(target.New(soc))(t)
		built, err := codegen.Build(m, to)
		require.NoError(t, err, soc)
		require.Equal(t, "c", built.Kind())
		path := filepath.Join(t.TempDir(), "mixed.so")
		require.NoError(t, export.Library(context.Background(), built, path))
		loaded := must.Get(runtime.Load(context.Background(), path))(t)
		for _, from := range []*runtime.Module{built, loaded} {
			x := must.Get(runtime.NewTensor(dlpack.Float32, []int64{8}, device))(t)
			host := must.Get(runtime.FromSlice([]float32{0, 1, 2, 3, 4, 5, 6, 7}))(t)
			require.NoError(t, x.CopyFromTensor(host, nil))
			f := must.Get(from.Function("both"))(t)
			must.Get(f.Call(x, host, 8))(t)
			got := must.Get(runtime.ToSlice[float32](x))(t)
			require.Equal(t, []float32{0, 9, 18, 27, 36, 45, 54, 63}, got)
			got = must.Get(runtime.ToSlice[float32](host))(t)
			require.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, got)
			for _, name := range []string{"scale", "add"} {
				g, err := from.Function(name)
				require.NoError(t, err, name)
				require.NoError(t, g.Close())
			}
			for _, c := range []interface{ Close() error }{f, x, host} {
				require.NoError(t, c.Close())
			}
		}
		require.NoError(t, built.Close())
		require.NoError(t, loaded.Close())
		require.Equal(t, before, runtime.Live())
	}
}
