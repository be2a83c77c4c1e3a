package runtime_test

import (
	"bytes"
	"log/slog"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/leaks"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
)

// kindsOnce makes the objects of kinds, which are never freed, before leaks are counted.
func kindsOnce(t testing.TB) {
	t.Helper()
	for _, name := range target.Kinds() {
		k := must.Get(target.LookupKind(name))(t)
		call(t, global(t, "target.ListTargetKindOptions"), k)
	}
}

func newTarget(t testing.TB, x any) *target.Target {
	t.Helper()
	return must.Get(target.New(x))(t)
}

// Targets are passed through calls as values and returned unchanged, also inside containers.
func TestTarget_IsAValue(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	echo := must.Open(runtime.NewFunction(func(args ...any) (any, error) { return args[0], nil }))(t)
	h := newTarget(t, map[string]any{"kind": "composite", "devices": []any{"cuda -arch=sm_90", "llvm"},
		"host": "llvm -mcpu=core2"})
	require.Same(t, h, call(t, echo, h))
	require.Same(t, h.Kind(), call(t, echo, h.Kind()))
	require.Equal(t, []any{runtime.Map{{"t", h}}, h.Kind()}, call(t, echo, []any{runtime.Map{{"t", h}}, h.Kind()}))
	require.Nil(t, call(t, echo, (*target.Target)(nil)))
	require.Nil(t, call(t, echo, (*target.Kind)(nil)))
	for _, bad := range []any{&target.Target{}, &target.Kind{}} {
		require.ErrorContains(t, must.Fail(echo.Call(bad)), "not made by")
	}
	var tasks sync.WaitGroup
	for range 8 {
		tasks.Go(func() {
			for range 200 {
				v, err := echo.Call([]any{h, h.Host(), h.Kind()})
				if err != nil || v.([]any)[0] != h {
					t.Errorf("%v: %v", v, err)
				}
			}
		})
	}
	tasks.Wait()
}

// The collector frees a target whose objects were freed.
func TestTarget_IsLetGo(t *testing.T) {
	var gone atomic.Bool
	export := global(t, "target.TargetExport")
	func() {
		x := newTarget(t, "llvm")
		goruntime.AddCleanup(x, func(*atomic.Bool) { gone.Store(true) }, &gone)
		call(t, export, x)
	}()
	other := newTarget(t, "llvm")
	require.True(t, leaks.Until(func() bool {
		call(t, export, other)
		return gone.Load()
	}))
}

func TestTargetFunctions(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	do := func(name string, args ...any) any { t.Helper(); return call(t, global(t, "target."+name), args...) }
	cuda := newTarget(t, "cuda -arch=sm_90 -libs=cudnn,cublas")
	for _, x := range []any{"cuda -arch=sm_90 -libs=cudnn,cublas", cuda.JSON(), []byte(cuda.JSON()), cuda,
		runtime.Map{{"kind", "cuda"}, {"arch", "sm_90"}, {"libs", []any{"cudnn", "cublas"}}},
		runtime.Map{{"kind", cuda.Kind()}, {"arch", "sm_90"}, {"libs", "cudnn,cublas"}, {"max_num_threads", 1024.0}}} {
		got := do("Target", x).(*target.Target)
		require.True(t, cuda.Equal(got), "%v: %s", x, got)
	}
	llvm := newTarget(t, "llvm")
	hosted := do("Target", runtime.Map{{"kind", "cuda"}, {"arch", "sm_90"}},
		runtime.Map{{"kind", "llvm"}, {"mcpu", "core2"}}).(*target.Target)
	require.Equal(t, "core2", do("TargetExport", hosted).(runtime.Map)[3].Value.(runtime.Map)[3].Value)
	require.True(t, llvm.Equal(do("WithHost", cuda, llvm).(*target.Target).Host()))
	require.True(t, llvm.Equal(do("WithHost", cuda, "llvm").(*target.Target).Host()))
	require.True(t, cuda.Equal(do("WithHost", do("WithHost", cuda, llvm), nil).(*target.Target)))
	require.Equal(t, cuda.JSON(), do("TargetAsJSON", cuda))
	require.Equal(t, cuda.JSON(), call(t, global(t, "ffi.ReprPrint"), cuda))
	require.Equal(t, "cuda", call(t, global(t, "ffi.ReprPrint"), cuda.Kind()))
	require.Equal(t, runtime.Map{{"kind", "cuda"}, {"tag", ""}, {"keys", []any{"cuda", "gpu"}}, {"arch", "sm_90"},
		{"libs", []any{"cudnn", "cublas"}}, {"max_num_threads", int64(1024)}, {"thread_warp_size", int64(32)}},
		do("TargetExport", cuda))
	both := newTarget(t, map[string]any{"kind": "composite", "devices": []any{cuda, "llvm"}})
	devices := do("TargetExport", both).(runtime.Map)[3].Value.([]any)
	require.Equal(t, do("TargetExport", cuda), devices[0])
	require.EqualValues(t, 2, do("TargetGetDeviceType", cuda))
	require.EqualValues(t, 4, do("TargetGetDeviceType",
		newTarget(t, `{"kind":"cuda","arch":"sm_90","target_device_type":4}`)))
	require.Equal(t, true, do("TargetGetFeature", newTarget(t, "test"), "is_test"))
	require.Nil(t, do("TargetGetFeature", cuda, "is_test"))
	require.Subset(t, do("ListTargetKinds"), []any{"cuda", "llvm", "composite"})
	require.Len(t, do("ListTargetKinds"), len(target.Kinds()))
	for _, name := range []string{"ListTargetKindOptions", "ListTargetKindOptionsFromName", "TargetKindGetOptions"} {
		options := map[any]any{}
		for _, e := range do(name, "composite").(runtime.Map) {
			options[e.Key] = e.Value
		}
		require.Equal(t, map[any]any{"kind": "str", "keys": "Array<str>", "tag": "str", "device": "str",
			"model": "str", "libs": "Array<str>",
			"host": "target.Target", "from_device": "int", "target_device_type": "int",
			"devices": "Array<target.Target>"}, options)
		require.Equal(t, do(name, "cuda"), do(name, cuda.Kind()))
	}
}

func TestTargetFunctions_Tags(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	list, add := global(t, "target.TargetTagListTags"), global(t, "target.TargetTagAddTag")
	byName := func() map[any]any {
		m := map[any]any{}
		for _, e := range call(t, list).(runtime.Map) {
			m[e.Key] = e.Value
		}
		return m
	}
	var logged bytes.Buffer
	logger := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	before := byName()
	slog.SetDefault(logger)
	require.Empty(t, logged.String(), "listing tags does not log their warnings")
	require.Len(t, before, len(target.Tags()))
	require.True(t, newTarget(t, "nvidia/nvidia-h100").Equal(before["nvidia/nvidia-h100"].(*target.Target)))
	config := runtime.Map{{"kind", "cuda"}, {"arch", "sm_75"}}
	made := call(t, add, "runtime-test/board", config, false).(*target.Target)
	require.Equal(t, "runtime-test/board", made.Tag())
	require.True(t, newTarget(t, "runtime-test/board").Equal(made))
	require.ErrorIs(t, must.Fail(add.Call("runtime-test/board", config, false)), target.ErrDuplicate)
	made = call(t, add, "runtime-test/board", runtime.Map{{"kind", "cuda"}, {"arch", "sm_80"}}, true).(*target.Target)
	require.Equal(t, "sm_80", made.Attrs()["arch"])
	require.True(t, made.Equal(byName()["runtime-test/board"].(*target.Target)))
	require.Len(t, byName(), len(before)+1)
}

func TestTargetFunctions_AttributesOfKinds(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	get := global(t, "target.TargetKindGetAttr")
	require.NoError(t, target.SetAttr("test", "runtime-test.number", 7))
	require.NoError(t, target.SetAttr("test", "runtime-test.chan", make(chan int)))
	require.EqualValues(t, 7, call(t, get, "test", "runtime-test.number"))
	_, err := get.Call("test", "runtime-test.none")
	require.ErrorContains(t, err, `kind "test" has no value in column "runtime-test.none"`)
	require.ErrorContains(t, must.Fail(get.Call("test", "runtime-test.chan")), "chan int cannot be passed")
}

// The text of an error is that of package target, with the position.
func TestTargetFunctions_Refuse(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	deep := any("x")
	for range 100 {
		deep = []any{deep}
	}
	cuda := newTarget(t, "cuda -arch=sm_90")
	f := must.Open(runtime.NewFunction(func(...any) (any, error) { return nil, nil }))(t)
	for _, c := range []struct {
		name, code, text string
		args             []any
	}{
		{"Target", "ValueError", "expected 1 to 2 arguments, got 0", nil},
		{"Target", "ValueError", "expected 1 to 2 arguments, got 3", []any{"llvm", "llvm", "llvm"}},
		{"Target", "TypeError", "target: $: wrong type: expected a string, JSON, a map or a target, found int 3",
			[]any{3}},
		{"Target", "TypeError", "found null", []any{nil}},
		{"Target", "TypeError", "target: $.host: ", []any{"llvm", nil}},
		{"Target", "ValueError", `did you mean "cuda"?`, []any{"cudda"}},
		{"Target", "ValueError", `target: $.host: there is no target kind`,
			[]any{runtime.Map{{"kind", "cuda"}, {"host", "no"}}}},
		{"Target", "TypeError", "target: $.arch: ", []any{runtime.Map{{"kind", "cuda"}, {"arch", nil}}}},
		{"Target", "TypeError", "target: $.host.mcpu: wrong type: expected str, found int 3",
			[]any{runtime.Map{{"kind", "cuda"}, {"host", runtime.Map{{"kind", "llvm"}, {"mcpu", 3}}}}}},
		{"Target", "TypeError", "target: $.libs[1]: wrong type: expected str, found a Function",
			[]any{runtime.Map{{"kind", "llvm"}, {"libs", []any{"x", f}}}}},
		{"Target", "TypeError", "target: $: wrong type: expected a string, JSON, a map or a target, found device cuda:1",
			[]any{dlpack.Device{Type: dlpack.CUDA, ID: 1}}},
		{"Target", "TypeError", "target: $.host.num-cores: wrong type: expected int, found data type float32",
			[]any{runtime.Map{{"kind", "c"}, {"host", runtime.Map{{"kind", "llvm"}, {"num-cores", dlpack.Float32}}}}}},
		{"Target", "TypeError", "target: $.kind: wrong type: expected str, found a pointer",
			[]any{runtime.Map{{"kind", runtime.Ptr(&deep)}}}},
		{"Target", "TypeError", "target: $.libs[0]: wrong type: expected str, found int 2",
			[]any{runtime.Map{{"kind", "c"}, {"libs", runtime.Shape{2}}}}},
		{"Target", "TypeError", "target: $.host: wrong type: expected target.Target, found bytes",
			[]any{runtime.Map{{"kind", "c"}, {"host", []byte("c")}}}},
		{"WithHost", "TypeError",
			"target: $.host: wrong type: expected a string, JSON, a map or a target, found device cuda:1",
			[]any{cuda, dlpack.Device{Type: dlpack.CUDA, ID: 1}}},
		{"WithHost", "TypeError", "target: $.host: wrong type: expected names as keys, found the key int 1",
			[]any{cuda, runtime.Map{{1, 2}}}},
		{"Target", "TypeError", "target: $.mcpu: wrong type: expected str, found bytes",
			[]any{runtime.Map{{"kind", "llvm"}, {"mcpu", []byte("x")}}}},
		{"Target", "TypeError", "found the key int 1", []any{runtime.Map{{1, 2}}}},
		{"Target", "ValueError", `did you mean "arch"?`, []any{runtime.Map{{"kind", "cuda"}, {"arc", "sm_90"}}}},
		{"Target", "ValueError", "nested too deeply", []any{runtime.Map{{"kind", "llvm"}, {"libs", deep}}}},
		{"Target", "ValueError", "target: $[\"a b\"]", []any{runtime.Map{{"kind", "llvm"}, {"a b", 1}}}},
		{"WithHost", "TypeError", "argument 0: expected a target (target.Target makes one), got str \"cuda\"",
			[]any{"cuda", "llvm"}},
		{"TargetExport", "TypeError", "argument 0: expected a target", []any{nil}},
		{"TargetGetFeature", "TypeError", "argument 1: expected a string, got int 1", []any{cuda, 1}},
		{"ListTargetKindOptionsFromName", "ValueError", `did you mean "llvm"?`, []any{"llwm"}},
		{"ListTargetKindOptions", "TypeError", "argument 0: expected a target kind", []any{cuda}},
		{"TargetTagAddTag", "TypeError", "argument 1: expected a map of options, got str", []any{"a/b", "llvm", true}},
		{"TargetTagAddTag", "TypeError", "argument 2: expected a bool, got str",
			[]any{"a/b", runtime.Map{{"kind", "llvm"}}, "yes"}},
		{"TargetTagAddTag", "ValueError", "register tag", []any{"a b", runtime.Map{{"kind", "llvm"}}, false}},
	} {
		_, err := global(t, "target."+c.name).Call(c.args...)
		require.Error(t, err, "%s %v", c.name, c.args)
		var e *runtime.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.code, e.Code, "%v", err)
		require.ErrorContains(t, err, c.text)
	}
}

// An object that reflection makes from fields is a target if the fields describe one.
func TestTarget_OfFields(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	toJSON, fromJSON := global(t, "ffi.ToJSONGraphString"), global(t, "ffi.FromJSONGraphString")
	same := global(t, "ffi.StructuralEqual")
	hash := global(t, "ffi.StructuralHash")
	for _, x := range []string{"cuda -arch=sm_90 -libs=cudnn,cublas", "nvidia/nvidia-h100",
		"llvm -mtriple=aarch64-linux-gnu",
		`{"kind":"composite","devices":["vulkan","llvm"],"host":"llvm"}`, "test"} {
		want := newTarget(t, x)
		text := call(t, toJSON, want, nil).(string)
		got := call(t, fromJSON, text).(*target.Target)
		require.True(t, want.Equal(got), "%s\n%s", want.JSON(), got.JSON())
		require.Equal(t, true, call(t, same, want, got, false, false))
		require.Equal(t, call(t, hash, want, false, false), call(t, hash, got, false, false))
		require.Equal(t, false, call(t, same, want, newTarget(t, "cuda -arch=sm_91"), false, false))
		require.True(t, want.Equal(call(t, global(t, "ffi.DeepCopy"), want).(*target.Target)))
	}
	fill := global(t, "ffi.MakeObjectFromPackedArgs")
	kind := must.Get(target.LookupKind("cuda"))(t)
	made := call(t, fill, "target.Target", "kind", kind, "tag", "", "keys", []any{"cuda"},
		"attrs", runtime.Map{{"arch", "sm_90"}}, "host", nil)
	require.Equal(t, "sm_90", made.(*target.Target).Attrs()["arch"])
	_, err := fill.Call("target.Target", "kind", kind, "tag", "", "keys", []any{"cuda"}, "attrs",
		runtime.Map{{"arch", 90}}, "host", nil)
	require.ErrorIs(t, err, target.ErrType)
	_, err = fill.Call("target.Target", "kind", nil, "tag", "", "keys", []any{}, "attrs", runtime.Map{}, "host", nil)
	require.Error(t, err)
}

// Each thread has its own current targets.
func TestTarget_Current(t *testing.T) {
	kindsOnce(t)
	noLeaks(t)
	enter, exit, current := global(t, "target.TargetEnterScope"), global(t, "target.TargetExitScope"),
		global(t, "target.TargetCurrent")
	a, b := newTarget(t, "llvm"), newTarget(t, "cuda -arch=sm_90")
	onThread(func() {
		require.Nil(t, call(t, current, true))
		require.ErrorContains(t, must.Fail(current.Call(false)), "no current target")
		require.ErrorContains(t, must.Fail(exit.Call(a)), "in no target's scope")
		require.ErrorContains(t, must.Fail(enter.Call("llvm")), "argument 0")
		for range 20 {
			call(t, enter, a)
			call(t, enter, b)
		}
		require.Same(t, b, call(t, current, false))
		require.ErrorContains(t, must.Fail(exit.Call(a)), "not the innermost")
		call(t, exit, b)
		require.Same(t, a, call(t, current, false))
	}) // the thread ends without having exited all targets
	require.Nil(t, call(t, current, true))
}

// onThread runs f on a thread that ends afterwards.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.LockOSThread()
		// the first thread lasts as long as the process: keep it from the next goroutine
		if syscall.Gettid() == syscall.Getpid() {
			onThread(f)
			goruntime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}
