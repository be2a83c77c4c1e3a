package graph_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/value"
	"tvmgo/runtime"
)

// payloadOf loads a payload, imports the library, and returns the output of a run. It fails with an error if any of
// these does.
func (m *mlp) payloadOf(load *runtime.Function, lib *runtime.Module, payload []byte) ([]float32, error) {
	v, err := load.Call(payload)
	if err != nil {
		return nil, err
	}
	factory := v.(*runtime.Module)
	defer factory.Close()
	if err := factory.Import(lib); err != nil {
		return nil, err
	}
	create, err := factory.Function("default")
	if err != nil {
		return nil, err
	}
	defer create.Close()
	if v, err = create.Call(cpu); err != nil {
		return nil, err
	}
	s := v.(*runtime.Module)
	defer s.Close()
	call := func(name string, args ...any) (any, error) {
		f, err := s.Function(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return f.Call(args...)
	}
	if _, err := call("set_input", "data", m.in); err != nil {
		return nil, err
	}
	if _, err := call("run"); err != nil {
		return nil, err
	}
	if v, err = call("get_output", 0); err != nil {
		return nil, err
	}
	out := v.(*runtime.Tensor)
	defer out.Close()
	got, err := runtime.ToSlice[float32](out)
	if err == nil {
		err = m.sameOfModel(factory, got)
	}
	return got, err
}

// sameOfModel calls the factory's graph as a model, and panics if its result differs. An error is that of the model:
// with fewer parameters, it wants more inputs than an executor, where they are zero.
func (m *mlp) sameOfModel(factory *runtime.Module, want []float32) error {
	open, err := factory.Function("tvmgo.open_model")
	if err != nil {
		return err
	}
	defer open.Close()
	v, err := open.Call(cpu)
	if err != nil {
		return err
	}
	model := v.(*runtime.Module)
	defer model.Close()
	f, err := model.Function("main")
	if err != nil {
		return err
	}
	defer f.Close()
	if v, err = f.Call(m.in); err != nil {
		return err
	}
	defer value.Close(v)
	out, ok := v.(*runtime.Tensor)
	if !ok {
		return errors.New("several outputs")
	}
	got, err := runtime.ToSlice[float32](out)
	for i := range got {
		if len(got) != len(want) || math.Abs(float64(want[i]-got[i])) > 1e-6 {
			panic(fmt.Sprintf("the model returns %v, the executor %v", got, want))
		}
	}
	return err
}

// Every truncation and every change of a byte gives an error or the same result. Exceptions are bytes whose change
// makes another valid model: the elements of the parameters, and which node is the output.
func TestCorrupt_ErrorOrSameResult(t *testing.T) {
	m := loadMLP(t)
	payload := bytes.Clone(must.Get(m.SaveToBinary())(t))
	lib := must.Get(m.Imports())(t)[0]
	defer lib.Close()
	load := must.Open(runtime.Global("runtime.module.loadbinary_GraphExecutorFactory"))(t)
	want := must.Get(m.payloadOf(load, lib, payload))(t)
	require.InDeltaSlice(t, m.want, want, 1e-5)
	for n := range payload {
		_, err := m.payloadOf(load, lib, payload[:n])
		require.Error(t, err, n)
	}
	heads := bytes.Index(payload, []byte(`"heads"`))
	free := func(at int) bool { return at > heads && at < heads+60 }
	data := elements(payload)
	rng := rand.New(rand.NewPCG(testseed.Of(t), 7))
	errs := 0
	for at := range payload {
		if data[at] && at%16 != 0 {
			continue // they are only copied
		}
		for _, b := range []byte{payload[at] ^ 1, payload[at] ^ 2, payload[at] ^ 0x80, byte(rng.UintN(256)), '"', '1'} {
			if b == payload[at] {
				continue
			}
			changed := bytes.Clone(payload)
			changed[at] = b
			got, err := m.payloadOf(load, lib, changed)
			switch {
			case err != nil:
				errs++
			case !free(at) && !data[at]:
				require.Equal(t, len(want), len(got))
				for i := range want {
					require.False(t, math.Abs(float64(want[i]-got[i])) > 1e-6, "byte %d: %q", at,
						changed[max(0, at-40):min(len(changed), at+40)])
				}
			}
		}
	}
	require.Greater(t, errs, 5000)
}

// elements marks the bytes of a payload that are elements of parameters.
func elements(payload []byte) map[int]bool {
	marked := map[int]bool{}
	magic := binary.LittleEndian.AppendUint64(nil, 0xDD5E40F096B4A13F)
	for at := 0; ; {
		i := bytes.Index(payload[at:], magic)
		if i < 0 {
			return marked
		}
		at += i + 24
		rank := int(binary.LittleEndian.Uint32(payload[at:]))
		at += 8 + 8*rank
		n := int(binary.LittleEndian.Uint64(payload[at:]))
		at += 8
		for k := range n {
			marked[at+k] = true
		}
		at += n
	}
}

// Loading a changed payload does not run out of memory: sizes are checked before anything is allocated.
func TestCorrupt_Sizes(t *testing.T) {
	_, lib := sum(t)
	big := graphText(t, []node{{name: "x", out: f32(0, 1<<40, 1<<20)}}, ref{0, 0})
	_, err := modules.Call(t, must.Get(must.Open(runtime.Global("tvm.graph_executor_factory.create"))(t).Call(big, lib,
		"default"))(t).(*runtime.Module), "default", cpu)
	require.ErrorContains(t, err, `storage of node 0 "x"`)
}
