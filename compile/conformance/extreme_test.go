package conformance_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	"tvmgo/graph/lower"
	"tvmgo/graph/onnx"
	"tvmgo/graph/onnx/file"
	"tvmgo/graph/passes"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/target"
)

// extremes are numbers that models have by mistake, or to do harm.
var extremes = []int64{0, -1, 1, 2, -2, 7, 63, 1 << 10, 1 << 16, 1 << 20, 1 << 30, math.MaxInt32, math.MinInt32,
	1 << 40, -(1 << 40), 1 << 62, math.MaxInt64, math.MinInt64}

// generated does all work of the compiler for a model but that of the C compiler.
func generated(m *file.Model, o onnx.Options) error {
	f, err := onnx.Import(m, nil, o)
	if err != nil {
		return err
	}
	t, err := target.New("c")
	if err != nil {
		return err
	}
	if err := passes.Run(context.Background(), f, t, passes.Options{}); err != nil {
		return err
	}
	p, err := lower.Model([]*target.Target{t}, f)
	if err != nil || len(p.Kernels[0].Funcs) == 0 {
		return err
	}
	module, err := codegen.Build(p.Kernels[0], t)
	if err != nil {
		return err
	}
	return module.Close()
}

// disturb changes a number of a model or of its constants, and says which.
func disturb(r *rand.Rand, m *file.Model, constants map[string]*file.Tensor) string {
	n := m.Graph.Nodes[r.IntN(len(m.Graph.Nodes))]
	v := extremes[r.IntN(len(extremes))]
	var small []*file.Tensor
	for _, t := range constants {
		if len(t.Dims) < 2 {
			small = append(small, t)
		}
	}
	switch k := r.IntN(4); {
	case k == 0 && len(n.Attributes) > 0:
		a := n.Attributes[r.IntN(len(n.Attributes))]
		a.Int, a.Float = v, float32(v)
		if len(a.Ints) > 0 {
			a.Ints[r.IntN(len(a.Ints))] = v
		}
		return fmt.Sprintf("attribute %s has %d", a.Name, v)
	case k == 1 && len(m.Graph.Inputs) > 0:
		in := m.Graph.Inputs[r.IntN(len(m.Graph.Inputs))]
		if in.Type != nil && len(in.Type.Shape) > 0 {
			d := r.IntN(len(in.Type.Shape))
			in.Type.Shape[d] = file.Size(v)
			if r.IntN(2) == 0 {
				in.Type.Shape[d] = file.Symbol("open")
			}
			delete(constants, in.Name)
			return fmt.Sprintf("dimension %d of %s is %v", d, in.Name, in.Type.Shape[d])
		}
	case len(small) > 0:
		t := small[r.IntN(len(small))]
		if values := t.Int64Data; len(values) > 0 {
			values[r.IntN(len(values))] = v
			return fmt.Sprintf("an element of %s is %d", t.Name, v)
		}
	}
	return ""
}

// smallInputs are the inputs of a test of which shapes may be computed, as constants.
func smallInputs(t *testing.T, m *file.Model, dir string) map[string]*file.Tensor {
	t.Helper()
	out := map[string]*file.Tensor{}
	for k, in := range m.Graph.Inputs {
		data, err := os.ReadFile(filepath.Join(dir, "test_data_set_0", fmt.Sprintf("input_%d.pb", k)))
		if err != nil || in.Type == nil || in.Type.Kind != file.TensorKind || in.Type.Elem != file.Int64 {
			continue
		}
		x := must.Get(file.ParseTensor(data))(t)
		values, err := x.Bytes(nil)
		if err != nil || len(values) > 64*8 || len(x.Dims) > 1 {
			continue
		}
		c := &file.Tensor{Name: in.Name, DataType: file.Int64, Dims: x.Dims}
		for ; len(values) > 0; values = values[8:] {
			var v int64
			for b := range 8 {
				v |= int64(values[b]) << (8 * b)
			}
			c.Int64Data = append(c.Int64Data, v)
		}
		out[in.Name] = c
	}
	return out
}

// Nodes of all operators with extreme sizes, attributes and elements are compiled, or are errors, in little time and
// memory.
func TestExtremes(t *testing.T) {
	r := testseed.Rand(t)
	rounds, step := 1, 8
	if os.Getenv("TVMGO_TEST_ALL") != "" {
		rounds, step = 4, 1
	}
	for k, dir := range nodeTests(t) {
		if k%step != 0 {
			continue
		}
		data := must.Get(os.ReadFile(filepath.Join(dir, "model.onnx")))(t)
		for range rounds {
			m := must.Get(file.Parse(data))(t)
			o := onnx.Options{Constants: smallInputs(t, m, dir)}
			what := ""
			for range 1 + r.IntN(3) {
				what += disturb(r, m, o.Constants) + "; "
			}
			what = filepath.Base(dir) + ": " + what
			hangs := time.AfterFunc(3*time.Minute, func() { panic(what + ": the compiler does not end") })
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := generated(m, o)
			hangs.Stop()
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<30), what)
			if err != nil {
				require.NotEmpty(t, err.Error())
			}
		}
	}
}
