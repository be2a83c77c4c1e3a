package vm_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/gputest"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheelmodels"
	"tvmgo/runtime"
)

var ctx = context.Background()

// loadMLP loads the multi-layer perceptron with its weights bound. It is closed at the end of the test.
func loadMLP(t testing.TB, opts ...runtime.ModelOption) *runtime.Model {
	t.Helper()
	opts = append([]runtime.ModelOption{runtime.WithParams(artifacts + "relax_mlp.params")}, opts...)
	return must.Open(runtime.LoadModel(ctx, mlpFile(t), opts...))(t)
}

func TestModel_Loaded(t *testing.T) {
	noLeaks(t)
	in, shape := modules.NPY(t, artifacts+"relax_mlp_in0.npy")
	want, _ := modules.NPY(t, artifacts+"relax_mlp_out.npy")
	x := modules.Tensor(t, in, shape...)
	data := must.Get(os.ReadFile(mlpFile(t)))(t)
	weights := must.Open(runtime.OpenWeights(artifacts + "relax_mlp.params"))(t)
	for name, load := range map[string]func(opts ...runtime.ModelOption) (*runtime.Model, error){
		"file": func(opts ...runtime.ModelOption) (*runtime.Model, error) {
			return runtime.LoadModel(ctx, mlpFile(t), append(opts, runtime.PrivateCopy())...)
		},
		"bytes": func(opts ...runtime.ModelOption) (*runtime.Model, error) {
			return runtime.LoadModelBytes(ctx, data, append(opts, runtime.Name("mlp"))...)
		},
		"file system": func(opts ...runtime.ModelOption) (*runtime.Model, error) {
			return runtime.LoadModelFS(ctx, os.DirFS(artifacts), "relax_mlp.so", opts...)
		},
		"module": func(opts ...runtime.ModelOption) (*runtime.Model, error) {
			return runtime.NewModel(modules.Load(t, artifacts+"relax_mlp.so"), opts...)
		},
	} {
		for _, opts := range [][]runtime.ModelOption{
			{runtime.WithWeights(weights)},
			{runtime.WithParams(artifacts + "relax_mlp.params"), runtime.OnDevices(runtime.CPU)},
		} {
			m := must.Get(load(opts...))(t)
			require.Equal(t, "forward(x: float32[batch, 16], fc1.weight: float32[32, 16] (bound), "+
				"fc1.bias: float32[32] (bound), fc2.weight: float32[10, 32] (bound), fc2.bias: float32[10] (bound)) -> "+
				"float32[batch, 10]", m.Functions()[0].String(), name)
			for _, inputs := range []runtime.Inputs{runtime.Ordered{x}, runtime.Named{"x": x}} {
				out := must.Get(m.Run(ctx, inputs))(t)
				require.InDeltaSlice(t, want, modules.Slice[float32](t, must.Get(out.Tensor(0))(t)), 1e-5, name)
				require.NoError(t, out.Close())
			}
			require.NoError(t, m.Close())
		}
	}
}

func TestModel_ChecksInputs(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	x := modules.Tensor(t, make([]float32, 15), 1, 15)
	_, err := m.Run(ctx, runtime.Ordered{x})
	require.ErrorIs(t, err, runtime.ErrInvalidArgument)
	require.ErrorContains(t, err, "run forward: parameter x: expected float32[batch, 16], got float32[1, 15]: "+
		"dimension 1 must be 16")
	_, err = m.Run(ctx, runtime.Named{"x": x, "fc1.wieght": x})
	require.ErrorContains(t, err, `did you mean "fc1.weight"?`)
}

// All of a model's goroutines share it; requests of different sizes are answered one by one and stacked.
func TestModel_ManyGoroutines(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	in, _ := modules.NPY(t, artifacts+"relax_mlp_in0.npy")
	want, shape := modules.NPY(t, artifacts+"relax_mlp_out.npy")
	batch, columns := int(shape[0]), int(shape[1])
	check := func(out runtime.Outputs, first, n int) error {
		defer out.Close()
		y, err := out.Tensor(0)
		if err != nil {
			return err
		}
		got, err := runtime.ToSlice[float32](y)
		if err != nil {
			return err
		}
		if len(got) != n*columns {
			return fmt.Errorf("%d rows have %d elements", n, len(got))
		}
		for i, v := range got {
			if d := v - want[first*columns+i]; d > 1e-5 || d < -1e-5 {
				return fmt.Errorf("row %d: element %d is %v", first, i, v)
			}
		}
		return nil
	}
	var group sync.WaitGroup
	failed := make([]error, 16)
	for g := range failed {
		cancellable, cancel := context.WithCancel(ctx)
		t.Cleanup(cancel)
		group.Go(func() {
			for i := range 20 {
				var requests []runtime.Inputs
				sizes := []int{(g+i)%batch + 1, 1, (g*i)%batch + 1}
				for _, n := range sizes {
					x, err := runtime.FromSlice(in[:n*16], int64(n), 16)
					if err != nil {
						failed[g] = err
						return
					}
					defer x.Close()
					requests = append(requests, runtime.Ordered{x})
				}
				all, err := m.RunBatch(cancellable, requests)
				for k, out := range all {
					if err == nil {
						err = check(out, 0, sizes[k])
					}
				}
				one, e := m.Run(cancellable, requests[0])
				if err == nil && e == nil {
					e = check(one, 0, sizes[0])
				}
				if failed[g] = err; err == nil {
					failed[g] = e
				}
				if failed[g] != nil {
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

// A session has inputs and outputs of its own, and the weights of the model.
func TestModel_Session(t *testing.T) {
	noLeaks(t)
	m := loadMLP(t)
	in, shape := modules.NPY(t, artifacts+"relax_mlp_in0.npy")
	want, _ := modules.NPY(t, artifacts+"relax_mlp_out.npy")
	x := modules.Tensor(t, in, shape...)
	before := runtime.Live().TensorBytes
	s := must.Open(m.Session())(t)
	other := must.Open(m.Session())(t)
	require.Equal(t, before, runtime.Live().TensorBytes, "the weights are shared")
	require.Equal(t, "relax.VirtualMachine", s.Kind())
	must.Get(modules.Call(t, s, "set_input", "forward", x))(t)
	must.Get(modules.Call(t, s, "invoke_stateful", "forward"))(t)
	require.ErrorContains(t, must.Fail(modules.Call(t, other, "get_output", "forward")), "No output saved")
	require.NoError(t, m.Close())
	y := must.Get(modules.Call(t, s, "get_output", "forward"))(t).(*runtime.Tensor)
	defer y.Close()
	require.InDeltaSlice(t, want, modules.Slice[float32](t, y), 1e-5)
	require.Equal(t, []any{runtime.CPU}, must.Get(modules.Call(t, s, "tvmgo.devices"))(t))
	for _, name := range []string{"tvmgo.devices", "tvmgo.session"} {
		require.ErrorContains(t, must.Fail(modules.Call(t, s, name, 1)), "expected 0 arguments")
		load := must.Open(loaded(t, pairs("vm.builtin.make_tuple")).Function("vm_load_executable"))(t)
		raw := must.Get(load.Call())(t).(*runtime.Module)
		t.Cleanup(func() { raw.Close() })
		require.ErrorContains(t, must.Fail(modules.Call(t, raw, name)), "call vm_initialization")
	}
}

// A cancelled call of a real model leaves nothing behind.
func TestModel_RunCancelled(t *testing.T) {
	noLeaks(t)
	started, proceed := make(chan struct{}), make(chan struct{})
	slow := must.Open(runtime.NewFunction(func(args ...any) (any, error) {
		close(started)
		<-proceed
		return args[0], nil
	}))(t)
	require.NoError(t, runtime.RegisterGlobal("tvmgo.test.slow", slow, false))
	t.Cleanup(func() { runtime.RemoveGlobal("tvmgo.test.slow") })
	m := must.Open(runtime.NewModel(loaded(t, pairs("tvmgo.test.slow"))))(t)
	x := modules.Tensor(t, []float32{1})
	cancellable, cancel := context.WithCancel(ctx)
	go func() { <-started; cancel() }()
	require.ErrorIs(t, must.Fail(m.Run(cancellable, runtime.Ordered{x, x})), context.Canceled)
	require.NoError(t, x.Close())
	require.NoError(t, m.Close())
	close(proceed)
	require.NoError(t, m.Wait(ctx))
}

// Every model that Apache TVM compiled has the signatures of its parameters, and the results of TVM's machine, with
// inputs in order and by name.
func TestModel_EveryModelOfTheWheel(t *testing.T) {
	registerGlobals(t)
	for _, w := range wheelmodels.Need(t) {
		if w.Program == "few_arguments" || w.Error != "" || w.Devices[0] == "cuda" {
			continue // others test these
		}
		t.Run(w.Name, func(t *testing.T) {
			noLeaks(t)
			dev := runtime.CPU
			if w.Devices[0] == "opencl" {
				if dev = (dlpack.Device{Type: dlpack.OpenCL}); !runtime.DeviceExists(dev) {
					gputest.Missing(t, dev.Type, "there is no OpenCL device")
				}
			}
			m := must.Open(runtime.LoadModel(ctx, w.Path, runtime.OnDevices(dev)))(t)
			for _, f := range w.Functions {
				info := must.Get(m.Function(f.Name))(t)
				require.Len(t, info.Params, f.Arity)
				for i, name := range f.Parameters {
					require.Equal(t, name, info.Params[i].Name)
				}
			}
			cancellable, cancel := context.WithCancel(ctx)
			defer cancel()
			for i, c := range w.Cases {
				runModelCase(t, cancellable, m, fmt.Sprintf("%s, case %d, by name", c.Function, i), c, dev, true)
				runModelCase(t, ctx, m, fmt.Sprintf("%s, case %d", c.Function, i), c, dev, false)
			}
		})
	}
}

func runModelCase(t *testing.T, ctx context.Context, m *runtime.Model, what string, c wheelmodels.Case,
	dev dlpack.Device, byName bool) {
	t.Helper()
	var args runtime.Ordered
	for i, v := range c.Inputs {
		on := dev
		if c.After == nil && i%2 == 0 {
			on = runtime.CPU // moves to where the function wants it
		}
		args = append(args, argument(t, v, on))
	}
	var inputs runtime.Inputs = args
	if byName {
		named := runtime.Named{}
		for i, p := range must.Get(m.Function(c.Function))(t).Params {
			named[p.Name] = args[i]
		}
		if named[""] != nil || len(named) != len(args) {
			return // no names
		}
		inputs = named
	}
	out, err := m.RunFunction(ctx, c.Function, inputs)
	if c.Error != "" {
		require.Error(t, err, "%s: Apache TVM says %s", what, c.Error)
		return
	}
	require.NoError(t, err, what)
	if c.Output.Tuple != nil {
		requireValue(t, c.Output, []any(out))
	} else {
		require.Len(t, out, 1)
		requireValue(t, c.Output, out[0])
	}
	for i, v := range c.After {
		requireTensor(t, v.Tensor, args[i].(*runtime.Tensor))
	}
}
