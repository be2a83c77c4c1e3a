package runtime_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// hammer holds objects that many goroutines use at once. Whatever the order, nothing may crash, leak or return a wrong
// result; an object that another goroutine has closed returns ErrClosed.
type hammer struct {
	probe   string // a library with its own state
	bytes   []byte // a library with Go modules in its blob
	fake    dlpack.Device
	shared  *runtime.Module
	callee  *runtime.Function
	tensors [8]atomic.Pointer[runtime.Tensor] // replaced and closed by any goroutine
	rounds  int
}

const hammerGoroutines = 64

func TestHammer(t *testing.T) {
	noLeaks(t)
	namedKind(t, nil)
	h := &hammer{probe: buildC(t, probeSource), fake: fakeDevice(t), rounds: 100, shared: modules.Load(t, multiC),
		bytes: withBlob(t, probeSource, modernTree([]entry{lib(), of("a"), of("b")}, [][]int{{1}, {2}, nil}))}
	if testing.Short() {
		h.rounds = 5
	}
	h.callee = goFunction(t, func(args ...any) (any, error) { return args[0], nil })
	for i := range h.tensors {
		h.tensors[i].Store(h.newTensor(int32(i)))
	}
	onThreads := function(t, modules.Load(t, h.probe), "on_threads")
	work := []func(*rand.Rand, int) error{h.load, h.loadTree, h.call, h.bind, h.global, h.exchange, h.dlpack,
		h.device, h.values, h.imports}
	var wg sync.WaitGroup
	errs := make(chan error, hammerGoroutines)
	for g := range hammerGoroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for i := range h.rounds {
				k := r.IntN(len(work))
				if err := work[k](r, g); err != nil {
					errs <- fmt.Errorf("goroutine %d, round %d, work %d: %w", g, i, k, err)
					return
				}
			}
		})
	}
	// Meanwhile, threads of C run.
	both := goFunction(t, func(args ...any) (any, error) {
		return args[0].(int64) + args[1].(int64), late(h.global(rand.New(rand.NewPCG(2, uint64(args[0].(int64)))), 1))
	})
	require.Equal(t, int64(0), call(t, onThreads, both, 16, h.rounds))
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	for i := range h.tensors {
		h.tensors[i].Load().Close()
	}
}

func (h *hammer) newTensor(v int32) *runtime.Tensor {
	x, err := runtime.FromSlice([]int32{v, v, v})
	if err != nil {
		panic(err)
	}
	return x
}

// late accepts errors for objects that another goroutine has closed or removed.
func late(err error) error {
	if errors.Is(err, runtime.ErrClosed) || errors.Is(err, runtime.ErrNotFound) {
		return nil
	}
	return err
}

func (h *hammer) load(r *rand.Rand, g int) error {
	var opts []runtime.LoadOption
	if r.IntN(3) == 0 {
		opts = append(opts, runtime.PrivateCopy())
	}
	path := h.probe
	if r.IntN(2) == 0 {
		path = cpuFile(r.IntN(100))
	}
	m, err := runtime.Load(ctx, path, opts...)
	if err != nil {
		return err
	}
	defer m.Close()
	if path != h.probe {
		return h.addone(m)
	}
	f, err := m.Function("context")
	if err != nil {
		return err
	}
	defer f.Close()
	m.Close() // the function keeps the module
	v, err := f.Call()
	if err == nil && v == int64(0) {
		err = errors.New("no context")
	}
	return err
}

func (h *hammer) addone(m *runtime.Module) error {
	f, err := m.Function("addone")
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := runtime.FromSlice([]float32{1, 2, 3})
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := runtime.FromSlice(make([]float32, 3))
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := f.Call(in, out); err != nil {
		return err
	}
	if _, err := f.Call(in); err == nil {
		return errors.New("a missing argument was accepted")
	}
	s, err := runtime.ToSlice[float32](out)
	if err == nil && s[2] != 4 {
		err = fmt.Errorf("got %v", s)
	}
	return err
}

func (h *hammer) loadTree(r *rand.Rand, g int) error {
	m, err := runtime.LoadBytes(ctx, h.bytes)
	if err != nil {
		return err
	}
	defer m.Close()
	env, err := m.Function("env")
	if err != nil {
		return err
	}
	defer env.Close()
	want := string("ab"[r.IntN(2)])
	v, err := env.Call(want)
	if err == nil && v != want {
		err = fmt.Errorf("got %v", v)
	}
	return err
}

func (h *hammer) call(r *rand.Rand, g int) error { return h.addone(h.shared) }

func (h *hammer) bind(r *rand.Rand, g int) error {
	x := h.tensors[r.IntN(len(h.tensors))].Load()
	b, err := h.callee.Bind(x, "text that is an object")
	if err != nil {
		return late(err)
	}
	defer b.Close()
	for range 3 {
		if err := b.Call(); err != nil {
			return err
		}
		v, err := b.Result()
		if err != nil {
			return err
		}
		s, err := runtime.ToSlice[int32](v.(*runtime.Tensor))
		v.(*runtime.Tensor).Close()
		if err != nil || s[0] != s[2] {
			return fmt.Errorf("got %v, %v", s, err)
		}
	}
	return nil
}

func (h *hammer) global(r *rand.Rand, g int) error {
	name := fmt.Sprint("tvmgo_test.hammer", r.IntN(4))
	f, err := runtime.NewFunction(func(...any) (any, error) { return g, nil })
	if err != nil {
		return err
	}
	defer f.Close()
	if err := runtime.RegisterGlobal(name, f, true); err != nil {
		return err
	}
	defer runtime.RemoveGlobal(name)
	found, err := runtime.Global(name)
	if err != nil {
		return late(err)
	}
	defer found.Close()
	if len(runtime.GlobalNames()) < 10 {
		return errors.New("names are missing")
	}
	_, err = found.Call()
	return err
}

// exchange replaces a shared tensor and closes the old one while others use it.
func (h *hammer) exchange(r *rand.Rand, g int) error {
	slot := &h.tensors[r.IntN(len(h.tensors))]
	old := slot.Swap(h.newTensor(int32(g)))
	v, err := old.Reshape(3, 1)
	if err := late(err); err != nil {
		return err
	}
	old.Close()
	if v == nil {
		return nil
	}
	defer v.Close()
	_, err = runtime.ToSlice[int32](v)
	return err
}

func (h *hammer) dlpack(r *rand.Rand, g int) error {
	x := h.tensors[r.IntN(len(h.tensors))].Load()
	managed, err := x.ToDLPack()
	if err != nil {
		return late(err)
	}
	y, err := runtime.FromDLPack(managed)
	if err != nil {
		return err
	}
	defer y.Close()
	s, err := runtime.ToSlice[int32](y)
	if err == nil && s[0] != s[2] {
		err = fmt.Errorf("got %v", s)
	}
	return err
}

func (h *hammer) device(r *rand.Rand, g int) error {
	s, err := runtime.NewStream(h.fake)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := runtime.NewTensor(dlpack.Int32, []int64{3}, h.fake)
	if err != nil {
		return err
	}
	defer x.Close()
	src := h.tensors[r.IntN(len(h.tensors))].Load()
	if err := x.CopyFromTensor(src, s); err != nil {
		return late(err)
	}
	if err := s.Sync(ctx); err != nil {
		return err
	}
	if _, err := h.callee.CallOn(s, 1); err != nil {
		return err
	}
	_, err = runtime.ToSlice[int32](x)
	return err
}

func (h *hammer) values(r *rand.Rand, g int) error {
	x := h.tensors[r.IntN(len(h.tensors))].Load()
	v, err := h.callee.Call([]any{x, runtime.Map{{"key that is an object", x}}, h.shared, h.callee, []byte("bytes")})
	if err != nil {
		return late(err)
	}
	list := v.([]any)
	list[0].(*runtime.Tensor).Close()
	list[1].(runtime.Map)[0].Value.(*runtime.Tensor).Close()
	list[2].(*runtime.Module).Close()
	list[3].(*runtime.Function).Close()
	return nil
}

func (h *hammer) imports(r *rand.Rand, g int) error {
	var mods [3]*runtime.Module
	for i := range mods {
		m, err := runtime.NewModule("hammer", 0, &goModule{})
		if err != nil {
			return err
		}
		defer m.Close()
		mods[i] = m
	}
	// Two goroutines complete a cycle of imports from both sides: one of them gets an error.
	var wg sync.WaitGroup
	var failed [3]error
	for i := range mods {
		wg.Go(func() { failed[i] = mods[i].Import(mods[(i+1)%3]) })
	}
	wg.Wait()
	refused := 0
	for _, err := range failed {
		if err != nil {
			refused++
		}
	}
	if refused != 1 {
		return fmt.Errorf("%d of three imports in a circle were refused", refused)
	}
	return nil
}

// Each private copy uses a memory file: they must not accumulate.
func TestHammer_OpenFilesDoNotPileUp(t *testing.T) {
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	noLeaks(t)
	modules.Load(t, multiC, runtime.PrivateCopy()).Close()
	damaged := filepath.Join(t.TempDir(), "damaged.so")
	library := must.Get(os.ReadFile(artifacts + "modern/gpu_cuda.so"))(t)
	require.NoError(t, os.WriteFile(damaged, library[:len(library)/2], 0o666))
	before := files()
	for range 50 {
		modules.Load(t, multiC, runtime.PrivateCopy()).Close()
		modules.Load(t, multiC).Close()
		modules.Load(t, artifacts+"modern/gpu_cuda.so", runtime.PrivateCopy()).Close()
		modules.Load(t, artifacts+"modern/relax_mlp.so", runtime.PrivateCopy()).Close()
		require.Error(t, must.Fail(runtime.Load(ctx, damaged, runtime.PrivateCopy())))
	}
	require.LessOrEqual(t, files(), before+2)
}
