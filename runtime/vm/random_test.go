package vm_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/blob/vmcode"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
	"tvmgo/internal/testing/vmrun"
	"tvmgo/runtime"
)

// traces has what vmrun.log got, for each thread of the process on which a random program runs.
var traces sync.Map // of thread number to *[]string

// toRuntime converts an argument of a random program. Tensors are closed at the end of the test.
func toRuntime(t testing.TB, v vmrun.Value) any {
	switch v := v.(type) {
	case vmrun.Shape:
		return runtime.Shape(v)
	case *vmrun.Tensor:
		x := must.Get(runtime.NewTensor(v.DType, v.Shape, runtime.CPU))(t)
		require.NoError(t, x.CopyFromBytes(v.Data()))
		return x
	case *vmrun.Tuple:
		items := []any{}
		for _, item := range v.Items {
			items = append(items, toRuntime(t, item))
		}
		return items
	}
	return v
}

// closeAll closes the objects in a value.
func closeAll(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			closeAll(item)
		}
	case interface{ Close() error }:
		v.Close()
	}
}

// format is vmrun.Format of a value of the runtime.
func format(v any) string {
	switch v := v.(type) {
	case *runtime.Tensor:
		data := make([]byte, v.Size())
		if err := v.CopyToBytes(data); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("tensor%s%s%x", vmrun.Format(v.DType()), vmrun.Format(vmrun.Shape(v.Shape())), data)
	case runtime.Shape:
		return vmrun.Format(vmrun.Shape(v))
	case []any:
		text := "("
		for i, item := range v {
			if i > 0 {
				text += ", "
			}
			text += format(item)
		}
		return text + ")"
	case *runtime.Function:
		return "function"
	case *runtime.Object:
		if _, err := call("vm.builtin.check_func_info", v, nil); err == nil {
			return "closure"
		}
		return "storage"
	case runtime.Ptr:
		return "context"
	}
	return vmrun.Format(v)
}

// call calls a global function.
func call(name string, args ...any) (any, error) {
	f, err := runtime.Global(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Call(args...)
}

// cast returns the arguments of a test function as values of one type.
func cast[T any](args []any, n int) ([]T, error) {
	if len(args) < n {
		return nil, fmt.Errorf("%d arguments, not %d", len(args), n)
	}
	out := make([]T, len(args))
	for i, a := range args {
		v, ok := a.(T)
		if !ok {
			return nil, fmt.Errorf("%s is no %T", format(a), v)
		}
		out[i] = v
	}
	return out, nil
}

// exactly is cast for n arguments.
func exactly[T any](args []any, n int) ([]T, error) {
	if len(args) != n {
		return nil, fmt.Errorf("%d arguments, not %d", len(args), n)
	}
	return cast[T](args, n)
}

// testFunctions are the functions that package vmrun describes.
var testFunctions = map[string]runtime.PackedFunc{
	"vmrun.add": func(args ...any) (any, error) {
		n, err := exactly[int64](args, 2)
		if err != nil {
			return nil, err
		}
		return n[0] + n[1], nil
	},
	"vmrun.less": func(args ...any) (any, error) {
		n, err := exactly[int64](args, 2)
		if err != nil {
			return nil, err
		}
		return n[0] < n[1], nil
	},
	"vmrun.addf": func(args ...any) (any, error) {
		n, err := exactly[float64](args, 2)
		if err != nil {
			return nil, err
		}
		return n[0] + n[1], nil
	},
	"vmrun.sum": func(args ...any) (any, error) {
		x, err := exactly[*runtime.Tensor](args, 1)
		if err != nil {
			return nil, err
		}
		data, n := make([]byte, x[0].Size()), int64(0)
		err = x[0].CopyToBytes(data)
		for _, b := range data {
			n += int64(b)
		}
		return n, err
	},
	"vmrun.fill": func(args ...any) (any, error) {
		if len(args) != 2 {
			return nil, errors.New("not 2 arguments")
		}
		x, err1 := cast[*runtime.Tensor](args[:1], 1)
		n, err2 := cast[int64](args[1:], 1)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		data := make([]byte, x[0].Size())
		for i := range data {
			data[i] = byte(n[0])
		}
		return nil, x[0].CopyFromBytes(data)
	},
	"vmrun.mix": func(args ...any) (any, error) {
		x, err1 := cast[*runtime.Tensor](args[:min(2, len(args))], 2)
		n, err2 := cast[int64](args[min(2, len(args)):], 0)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		from, to, salt := make([]byte, x[0].Size()), make([]byte, x[1].Size()), int64(0)
		if err := x[0].CopyToBytes(from); err != nil || len(from) == 0 {
			return nil, err
		}
		for _, v := range n {
			salt += v
		}
		for i := range to {
			to[i] = from[i%len(from)] + byte(i) + byte(salt)
		}
		return nil, x[1].CopyFromBytes(to)
	},
	"vmrun.bytes": func(args ...any) (any, error) {
		if len(args) != 2 {
			return nil, errors.New("not 2 arguments")
		}
		shape, err1 := cast[runtime.Shape](args[:1], 1)
		dtype, err2 := cast[dlpack.DataType](args[1:], 1)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		n := int64(dtype[0].Bits+7) / 8
		for _, d := range shape[0] {
			n *= d
		}
		return runtime.Shape{n}, nil
	},
	"vmrun.pick": func(args ...any) (any, error) {
		n, err := cast[int64](args[:min(1, len(args))], 1)
		if err != nil || n[0] < 0 || len(args) < 2 {
			return nil, errors.New("no index, or nothing to pick")
		}
		return args[1+n[0]%int64(len(args)-1)], nil
	},
	"vmrun.invoke": func(args ...any) (any, error) { return call("vm.builtin.invoke_closure", args...) },
	"vmrun.fail":   func(args ...any) (any, error) { return nil, errors.New("this program fails") },
	"vmrun.log": func(args ...any) (any, error) {
		trace, _ := traces.Load(syscall.Gettid())
		lines := trace.(*[]string)
		*lines = append(*lines, format(args))
		return nil, nil
	},
}

// registerTestFunctions makes the functions that random programs call global ones, until the end of the test.
func registerTestFunctions(t testing.TB) {
	for name, body := range testFunctions {
		f := must.Get(runtime.NewFunction(body))(t)
		require.NoError(t, runtime.RegisterGlobal(name, f, false))
		require.NoError(t, f.Close())
		t.Cleanup(func() { runtime.RemoveGlobal(name) })
	}
}

// loadProgram loads the executable of a random program, from a file that this machine wrote.
func loadProgram(t testing.TB, p *vmrun.Program) (*runtime.Module, error) {
	path := filepath.Join(t.TempDir(), "program.vm")
	file := must.Get(p.Exec.Encode(vmcode.FormOf(blob.Modern)))(t)
	require.NoError(t, os.WriteFile(path, file, 0o600))
	m, err := call("ffi.Module.load_from_file.relax.VMExecutable", path, "")
	if err != nil {
		return nil, err
	}
	return m.(*runtime.Module), nil
}

// start makes a session on the CPU, which the caller closes.
func start(t testing.TB, m *runtime.Module) (*runtime.Module, error) {
	s := must.Get(modules.Call(t, m, "vm_load_executable"))(t).(*runtime.Module)
	if _, err := modules.Call(t, s, "vm_initialization", 1, 0, 2); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// runProgram runs a random program by this machine.
func runProgram(t testing.TB, p *vmrun.Program) vmrun.Outcome {
	m, err := loadProgram(t, p)
	if err != nil {
		return vmrun.Outcome{Err: err}
	}
	defer m.Close()
	s, err := start(t, m)
	if err != nil {
		return vmrun.Outcome{Err: err}
	}
	defer s.Close()
	return runSession(t, s, p)
}

// runSession calls the function main of a session on the calling thread.
func runSession(t testing.TB, s *runtime.Module, p *vmrun.Program) (out vmrun.Outcome) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	traces.Store(syscall.Gettid(), &out.Trace)
	defer traces.Delete(syscall.Gettid())
	args := []any{}
	for _, a := range p.Args {
		args = append(args, toRuntime(t, a))
	}
	defer closeAll(args)
	result, err := modules.Call(t, s, "main", args...)
	if out.Err = err; err == nil {
		out.Result = format(result)
		closeAll(result)
	}
	return out
}

// agrees returns what this machine does otherwise than the oracle, "" for nothing.
func agrees(t testing.TB, p *vmrun.Program) string {
	want, got := p.Run(), runProgram(t, p)
	switch {
	case want.Undefined != "": // this machine must survive it
		return ""
	case errors.Is(want.Err, vmrun.ErrDepth): // its limit is another one
		if got.Err == nil {
			return "no error: it is " + want.Err.Error()
		}
		return ""
	}
	return want.Difference(got)
}

// live counts what is alive, without the memory that pools and threads keep for later work.
func live() runtime.LiveCounts {
	call("tvmgo.workspace.trim", runtime.CPU)
	n := runtime.Live()
	n.WorkspaceCached = 0
	return n
}

// Random programs have the same trace and result as in the plain interpreter, and leave nothing behind.
func TestRandomPrograms(t *testing.T) {
	registerTestFunctions(t)
	leaks.Check(t, live)
	seed := testseed.Of(t)
	for i := range uint64(1500) {
		p := vmrun.Random(rand.New(rand.NewPCG(seed, i)))
		difference := agrees(t, p)
		if difference == "" {
			continue
		}
		small := p.Shrink(func(p *vmrun.Program) bool {
			return p.Exec.Check() == nil && !errors.Is(p.Run().Err, vmrun.ErrSteps) && agrees(t, p) != ""
		})
		t.Fatalf("program %d: %s\nsmaller: %s\n%s", i, difference, agrees(t, small), small.Text())
	}
}

// One session runs a program on 64 threads at once, as on one.
func TestRandomPrograms_ManyThreads(t *testing.T) {
	registerTestFunctions(t)
	leaks.Check(t, live)
	seed := testseed.Of(t)
	for i, tested := uint64(0), 0; tested < 12; i++ {
		p := vmrun.Random(rand.New(rand.NewPCG(seed, i)))
		want := p.Run()
		if want.Undefined != "" || errors.Is(want.Err, vmrun.ErrDepth) || len(want.Trace) == 0 {
			continue
		}
		tested++
		s := must.Open(start(t, must.Open(loadProgram(t, p))(t)))(t)
		differences := make([]string, 64)
		var group sync.WaitGroup
		for g := range differences {
			group.Go(func() {
				for range 4 {
					differences[g] += want.Difference(runSession(t, s, p))
				}
			})
		}
		group.Wait()
		for _, d := range differences {
			require.Empty(t, d, "program %d:\n%s", i, p.Text())
		}
	}
}
