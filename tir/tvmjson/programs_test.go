//go:build cgo

package tvmjson_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/codegen"
	_ "tvmgo/codegen/all"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/spirvtest"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/transform"
	"tvmgo/tir/tvmjson"
)

func TestMain(m *testing.M) { spirvtest.Main(m) }

// parameter is a line of the manifest that programs.py writes.
type parameter struct {
	Dtype string
	Shape []int64
	Value any
}

// example is a program with arguments, and with what they hold after TVM's own code has run.
type example struct {
	name    string
	params  []parameter
	in, out [][]byte
}

func (e *example) gpu() bool {
	return strings.HasPrefix(e.name, "gpu_") || strings.HasPrefix(e.name, "dlight_")
}

// examples reads what programs.py has written to a folder.
func examples(t *testing.T, dir string) []*example {
	var manifest struct{ Programs map[string][]parameter }
	require.NoError(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, "manifest.json")))(t), &manifest))
	var list []*example
	for _, name := range slices.Sorted(maps.Keys(manifest.Programs)) {
		e := &example{name: name, params: manifest.Programs[name]}
		for i, p := range e.params {
			var in, out []byte
			if p.Shape != nil {
				base := filepath.Join(dir, fmt.Sprintf("%s.%d", name, i))
				in, out = must.Get(os.ReadFile(base+".in"))(t), must.Get(os.ReadFile(base+".out"))(t)
			}
			e.in, e.out = append(e.in, in), append(e.out, out)
		}
		list = append(list, e)
	}
	return list
}

func read(t *testing.T, text string) *tir.IRModule {
	m, err := tvmjson.Unmarshal([]byte(text))
	require.NoError(t, err)
	require.NoError(t, tir.Check(m), "%s", m)
	return m
}

// functions are the C functions that the programs call.
var functions = map[string]func(args []any) (any, error){
	"fabsf":  func(args []any) (any, error) { return math.Abs(args[0].(float64)), nil },
	"sqrtf":  func(args []any) (any, error) { return math.Sqrt(args[0].(float64)), nil },
	"memcmp": func([]any) (any, error) { return int64(0), nil },
	"memcpy": func(args []any) (any, error) {
		to, from := args[0].(*tirrun.Array), args[1].(*tirrun.Array)
		copy(to.Data[to.Offset*4:][:args[2].(int64)], from.Data[from.Offset*4:])
		return args[0], nil
	},
}

// interpret runs a program with the interpreter, which finds races and wrong indices.
func (e *example) interpret(t *testing.T, m *tir.IRModule) {
	args := make([]any, len(e.params))
	arrays := make([]*tirrun.Array, len(e.params))
	for i, p := range e.params {
		switch typ := must.Get(dlpack.ParseDataType(p.Dtype))(t); {
		case p.Shape == nil && tir.IsInt(typ):
			args[i] = int(p.Value.(float64))
		case p.Shape == nil:
			args[i] = p.Value
		default:
			arrays[i] = must.Get(tirrun.New(typ, p.Shape...))(t)
			copy(arrays[i].Data, e.in[i])
			args[i] = arrays[i]
		}
	}
	if e.gpu() { // TVM leaves barriers to its compiler
		m = must.Get(transform.ThreadSync(m, nil))(t)
	}
	program := must.Get(tirrun.Compile(m, tirrun.Options{Seed: 3, Funcs: functions}))(t)
	_, err := program.Call("main", args...)
	require.NoError(t, err, "%s", m)
	for i, a := range arrays {
		if a != nil {
			e.compare(t, i, a.Data)
		}
	}
}

// build generates the code of a program for a target.
func (e *example) build(t *testing.T, m *tir.IRModule, kind string) *runtime.Module {
	return must.Open(codegen.Build(m, must.Get(target.New(kind))(t)))(t)
}

// runIfPresent runs a program on the first device of a kind, as a test of its own that is skipped if there is none.
func (e *example) runIfPresent(t *testing.T, m *tir.IRModule, kind string, of dlpack.DeviceType) {
	t.Run(of.String(), func(t *testing.T) {
		dev := dlpack.Device{Type: of}
		if !runtime.DeviceExists(dev) {
			gputest.Missing(t, of, "there is no device "+dev.String())
		}
		e.run(t, m, kind, dev)
	})
}

// run builds a program and runs it on a device.
func (e *example) run(t *testing.T, m *tir.IRModule, kind string, dev dlpack.Device) {
	f := must.Open(e.build(t, m, kind).Function("main"))(t)
	args := make([]any, len(e.params))
	tensors := make([]*runtime.Tensor, len(e.params))
	for i, p := range e.params {
		if p.Shape == nil {
			args[i] = p.Value
			if v, ok := p.Value.(float64); ok && strings.HasPrefix(p.Dtype, "int") {
				args[i] = int(v)
			}
			continue
		}
		x := must.Open(runtime.NewTensor(must.Get(dlpack.ParseDataType(p.Dtype))(t), p.Shape, dev))(t)
		require.NoError(t, x.CopyFromBytes(e.in[i]))
		tensors[i], args[i] = x, x
	}
	_, err := f.Call(args...)
	require.NoError(t, err)
	for i, x := range tensors {
		if x != nil {
			got := make([]byte, len(e.in[i]))
			require.NoError(t, x.CopyToBytes(got))
			e.compare(t, i, got)
		}
	}
}

// compare compares what an argument holds with what it holds after TVM's code has run.
func (e *example) compare(t *testing.T, i int, got []byte) {
	typ := must.Get(dlpack.ParseDataType(e.params[i].Dtype))(t)
	if !tir.IsFloat(typ) {
		require.Equal(t, e.out[i], got, "argument %d", i)
		return
	}
	a, b := floats(typ, e.out[i]), floats(typ, got)
	limit := 2e-4
	if typ == tir.Float16 {
		limit = 2e-3
	}
	for j := range a {
		if d := math.Abs(a[j] - b[j]); !(d <= limit*(1+math.Abs(a[j]))) && !(math.IsNaN(a[j]) && math.IsNaN(b[j])) {
			t.Fatalf("argument %d, element %d: got %v, TVM has %v", i, j, b[j], a[j])
		}
	}
}

// floats returns floats of 32 and 16 bits.
func floats(t tir.Type, data []byte) []float64 {
	if t == tir.Float32 {
		out := make([]float64, len(data)/4)
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i*4:])))
		}
		return out
	}
	out := make([]float64, len(data)/2)
	for i := range out {
		h := binary.LittleEndian.Uint16(data[i*2:])
		v := float64(h&1023) * 0x1p-24
		if e := h >> 10 & 31; e == 31 {
			v = math.Inf(1)
		} else if e > 0 {
			v = math.Ldexp(1+float64(h&1023)/1024, int(e)-15)
		}
		if h>>15 != 0 {
			v = -v
		}
		out[i] = v
	}
	return out
}
