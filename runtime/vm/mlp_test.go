package vm_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/weights"

	_ "tvmgo/runtime/vm"
)

const artifacts = "../../testdata/artifacts/modern/"

// mlpFile returns the library of the multi-layer perceptron. It skips the test as machine.Need does.
func mlpFile(t testing.TB) string {
	t.Helper()
	const path = artifacts + "relax_mlp.so"
	machine.Need(t, path)
	return path
}

// session makes a session on the CPU. It is closed at the end of the test.
func session(t testing.TB, m *runtime.Module) *runtime.Module {
	t.Helper()
	s := must.Get(modules.Call(t, m, "vm_load_executable"))(t).(*runtime.Module)
	t.Cleanup(func() { s.Close() })
	_, err := modules.Call(t, s, "vm_initialization", 1, 0, 2)
	require.NoError(t, err)
	return s
}

// mlp returns a session of the multi-layer perceptron, its input and expected output for a batch, and its parameters.
func mlp(t testing.TB) (s *runtime.Module, params []any, in, want []float32, batch int64) {
	t.Helper()
	s = session(t, modules.Load(t, artifacts+"relax_mlp.so"))
	set := must.Open(weights.Open(artifacts + "relax_mlp.params"))(t)
	for _, name := range []string{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"} {
		w := must.Get(set.Lookup(name))(t)
		p := must.Open(runtime.NewTensor(w.DType, w.Shape, runtime.CPU))(t)
		require.NoError(t, p.CopyFromBytes(must.Get(w.Data())(t)))
		params = append(params, p)
	}
	in, shape := modules.NPY(t, artifacts+"relax_mlp_in0.npy")
	want, _ = modules.NPY(t, artifacts+"relax_mlp_out.npy")
	return s, params, in, want, shape[0]
}

func TestMLP(t *testing.T) {
	noLeaks(t)
	s, params, in, want, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	out := must.Get(f.Call(append([]any{modules.Tensor(t, in, batch, 16)}, params...)...))(t).(*runtime.Tensor)
	defer out.Close()
	require.InDeltaSlice(t, want, modules.Slice[float32](t, out), 1e-5)

	per := len(want) / int(batch)
	for n := int64(1); n <= batch; n++ { // any batch
		x := modules.Tensor(t, in[:n*16], n, 16)
		y := must.Get(f.Call(append([]any{x}, params...)...))(t).(*runtime.Tensor)
		require.InDeltaSlice(t, want[:int(n)*per], modules.Slice[float32](t, y), 1e-5)
		y.Close()
	}
	_, err := f.Call(append([]any{modules.Tensor(t, in[:15], 1, 15)}, params...)...)
	require.ErrorContains(t, err, `in function "forward", instruction `)
	_, err = f.Call(params[0])
	require.ErrorContains(t, err, `function "forward" expects 5 arguments`)
}

// One session serves any number of goroutines with different shapes.
func TestMLP_ManyGoroutines(t *testing.T) {
	noLeaks(t)
	s, params, in, want, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	per := len(want) / int(batch)
	var group sync.WaitGroup
	failed := make([]error, 64)
	for g := range failed {
		n := int64(g)%batch + 1
		x := modules.Tensor(t, in[:n*16], n, 16)
		group.Go(func() {
			for range 50 {
				v, err := f.Call(append([]any{x}, params...)...)
				if err != nil {
					failed[g] = err
					return
				}
				y, err := runtime.ToSlice[float32](v.(*runtime.Tensor))
				v.(*runtime.Tensor).Close()
				for i := range y {
					if d := y[i] - want[i]; d > 1e-5 || d < -1e-5 || len(y) != int(n)*per {
						err = fmt.Errorf("element %d of batch %d is %v, want %v", i, n, y[i], want[i])
					}
				}
				if err != nil {
					failed[g] = err
					return
				}
			}
		})
	}
	group.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
}

// noLeaks checks that no object, tensor or byte of the core is left after the test.
func noLeaks(t testing.TB) {
	t.Helper()
	leaks.Check(t, func() runtime.LiveCounts {
		n := runtime.Live()
		n.WorkspaceCached, n.DataBytes = 0, 0 // kept for reuse
		return n
	})
}
