package vm_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tracetest"
	"tvmgo/runtime"
)

// calls of relax_mlp.so by name: its 52 instructions are 51 calls and a return.
var mlpCalls = map[string]int{
	"forward": 1, "vm.builtin.alloc_shape_heap": 1, "vm.builtin.check_tensor_info": 1, "vm.builtin.match_shape": 2,
	"shape_func": 1, "vm.builtin.alloc_storage": 6, "vm.builtin.alloc_tensor": 8, "vm.builtin.make_shape": 11,
	"vm.builtin.null_value": 13, "transpose": 1, "transpose1": 1, "matmul": 1, "matmul1": 1, "add": 1, "add1": 1,
	"relu": 1, "softmax": 1,
}

func forward(t *testing.T, f *runtime.Function, args ...any) {
	y, err := f.Call(args...)
	require.NoError(t, err)
	require.NoError(t, y.(*runtime.Tensor).Close())
}

func TestProfile_MLP(t *testing.T) {
	noLeaks(t)
	s, params, in, _, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	args := append([]any{modules.Tensor(t, in, batch, 16)}, params...)
	p := must.Get(runtime.NewProfile())(t)
	forward(t, f, args...) // not recorded
	require.NoError(t, p.Do(func() error { forward(t, f, args...); return nil }))
	forward(t, f, args...)

	trace := tracetest.Of(t, p)
	require.Equal(t, mlpCalls, tracetest.CheckShares(t, p))
	run := trace.Of("function")
	require.Len(t, run, 1)
	require.Equal(t, "forward", run[0].Name)
	end, total := run[0].Begin, int64(0)
	instructions := trace.Of("instruction")
	require.Len(t, instructions, 51)
	for i, e := range instructions { // the last instruction returns
		require.Equal(t, i, e.Args.Instruction)
		require.Equal(t, "forward", e.Args.Function)
		require.Equal(t, end, e.Begin, "an instruction begins where the one before ended")
		end = e.End
		total += e.End - e.Begin
	}
	require.LessOrEqual(t, end, run[0].End)
	require.LessOrEqual(t, total, run[0].End-run[0].Begin)
	memory := trace.Memory("cpu:0")
	require.Len(t, memory, 16, "6 storages, and 2 workspaces of softmax")
	require.Zero(t, memory[len(memory)-1])
	require.NotContains(t, memory[:len(memory)-1], int64(0))

	for _, o := range must.Get(p.Operators())(t) {
		switch o.Name {
		case "matmul":
			require.Equal(t, 2*batch*16*32, o.FLOPs)
			require.Equal(t, 4*(batch*16+16*32+batch*32), o.Bytes)
			require.InDelta(t, float64(o.FLOPs)/float64(o.Time), o.GFLOPs, 1e-9)
			require.InDelta(t, float64(o.Bytes)/float64(o.Time), o.GBs, 1e-9)
		case "softmax":
			require.EqualValues(t, -1, o.FLOPs)
			require.Equal(t, 4*2*batch*10, o.Bytes)
		case "vm.builtin.make_shape":
			require.EqualValues(t, -1, o.Bytes)
		}
	}
	var table strings.Builder
	require.NoError(t, p.WriteTable(&table))
	require.Regexp(t, `host +matmul1 *\n`, table.String())
	require.Regexp(t, `100\.0 %.* total *\n`, table.String())
	require.NotContains(t, table.String(), "missing")
}

// A failed call is recorded up to the instruction that failed, and the profile goes on.
func TestProfile_FailedCall(t *testing.T) {
	noLeaks(t)
	s, params, in, _, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	p := must.Get(runtime.NewProfile())(t)
	require.ErrorContains(t, p.Do(func() error {
		_, err := f.Call(append([]any{modules.Tensor(t, in[:15], 1, 15)}, params...)...)
		return err
	}), "instruction")
	require.NoError(t, p.Do(func() error {
		forward(t, f, append([]any{modules.Tensor(t, in, batch, 16)}, params...)...)
		return nil
	}))
	trace := tracetest.Of(t, p)
	require.Len(t, trace.Of("function"), 2)
	require.Greater(t, len(trace.Of("instruction")), 51)
	memory := trace.Memory("cpu:0")
	require.Zero(t, memory[len(memory)-1])
}

// Profiles of goroutines that run at once, on one session, record their own calls alone.
func TestProfile_ManyGoroutines(t *testing.T) {
	noLeaks(t)
	s, params, in, _, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	args := append([]any{modules.Tensor(t, in, batch, 16)}, params...)
	shared := must.Get(runtime.NewProfile())(t)
	var wg sync.WaitGroup
	for n := 1; n <= 8; n++ {
		wg.Go(func() {
			own, err := runtime.NewProfile()
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 3 * n {
				p := own
				if i%3 == 0 {
					p = shared
				} else if i%3 == 1 {
					forward(t, f, args...)
					continue
				}
				_ = p.Do(func() error { forward(t, f, args...); return nil })
			}
			if _, err := shared.Recording(); err != nil { // while others record
				t.Error(err)
			}
			r, err := own.Operators()
			if err != nil {
				t.Error(err)
			}
			for _, o := range r {
				if o.Calls != n*mlpCalls[o.Name] {
					t.Errorf("%s: %d calls", o.Name, o.Calls)
				}
			}
		})
	}
	wg.Wait()
	trace := tracetest.Of(t, shared)
	require.Len(t, trace.Of("instruction"), 51*36)
	memory := trace.Memory("cpu:0")
	require.Zero(t, memory[len(memory)-1])
}

// Profiles nest: the inner one records.
func TestProfile_Nested(t *testing.T) {
	noLeaks(t)
	s, params, in, _, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	args := append([]any{modules.Tensor(t, in, batch, 16)}, params...)
	outer, inner := must.Get(runtime.NewProfile())(t), must.Get(runtime.NewProfile())(t)
	require.NoError(t, outer.Do(func() error {
		return inner.Do(func() error {
			return inner.Do(func() error { forward(t, f, args...); return nil })
		})
	}))
	require.NoError(t, outer.Do(func() error { forward(t, f, args...); return nil }))
	require.Len(t, tracetest.Of(t, outer).Of("instruction"), 51)
	require.Len(t, tracetest.Of(t, inner).Of("instruction"), 51)
}

// A result may outlive the call and be released on another thread: the memory in use follows.
func TestProfile_ResultOutlivesCall(t *testing.T) {
	noLeaks(t)
	s, params, in, _, batch := mlp(t)
	f := must.Open(s.Function("forward"))(t)
	args := append([]any{modules.Tensor(t, in, batch, 16)}, params...)
	p := must.Get(runtime.NewProfile())(t)
	var y any
	require.NoError(t, p.Do(func() (err error) { y, err = f.Call(args...); return err }))
	memory := tracetest.Of(t, p).Memory("cpu:0")
	require.Len(t, memory, 15)
	require.Positive(t, memory[14])
	done := make(chan error)
	go func() { done <- y.(*runtime.Tensor).Close() }()
	require.NoError(t, <-done)
	memory = tracetest.Of(t, p).Memory("cpu:0")
	require.Len(t, memory, 16)
	require.Zero(t, memory[15])
}
