package codegen_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
)

// fatDevice is a device in host memory whose indices have different attributes.
type fatDevice struct {
	attrs []map[runtime.AttrKind]any
	asked int
}

func (d *fatDevice) SetDevice(int) error { return nil }

func (d *fatDevice) Attr(id int, kind runtime.AttrKind) (any, error) {
	d.asked++
	if kind == runtime.AttrExist {
		return int64(1), nil
	}
	if id >= len(d.attrs) {
		return nil, nil
	}
	return d.attrs[id][kind], nil
}

func (d *fatDevice) AllocDataSpace(_ int, n, _ uintptr, _ dlpack.DataType) (unsafe.Pointer, error) {
	return unsafe.Pointer(unsafe.SliceData(kept(n))), nil
}
func (d *fatDevice) FreeDataSpace(int, unsafe.Pointer) error { return nil }
func (d *fatDevice) CopyDataFromTo(dlpack.Tensor, dlpack.Tensor, runtime.StreamHandle) error {
	return nil
}
func (d *fatDevice) StreamSync(int, runtime.StreamHandle) error { return nil }

var fatMemory [][]byte

func kept(n uintptr) []byte {
	fatMemory = append(fatMemory, make([]byte, n+1))
	return fatMemory[len(fatMemory)-1]
}

func version(v string) map[runtime.AttrKind]any {
	return map[runtime.AttrKind]any{runtime.AttrComputeVersion: v}
}

func limits(threads, shared, warp int64) map[runtime.AttrKind]any {
	return map[runtime.AttrKind]any{runtime.AttrMaxThreadsPerBlock: threads, runtime.AttrMaxSharedMemoryPerBlock: shared,
		runtime.AttrWarpSize: warp}
}

// The devices of the tests: cuda:i has the i-th capability, metal:i the i-th limits.
var (
	capabilities = []string{"6.1", "7.5", "8.0", "8.6", "9.0", "10.3", "12.0"}
	fatDevices   = map[dlpack.DeviceType]*fatDevice{dlpack.CUDA: {}, dlpack.Metal: {}, dlpack.WebGPU: {}}
)

var fatOnce = sync.OnceValue(func() error {
	for _, v := range capabilities {
		fatDevices[dlpack.CUDA].attrs = append(fatDevices[dlpack.CUDA].attrs, version(v))
	}
	fatDevices[dlpack.Metal].attrs = []map[runtime.AttrKind]any{limits(1024, 65536, 32), limits(256, 32768, 32),
		limits(256, 65536, 64), limits(64, 1024, 8)}
	for d, api := range fatDevices {
		err := runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: d, Name: d.String(),
			New: func() (runtime.DeviceAPI, error) { return api, nil }})
		if err != nil {
			return err
		}
	}
	return nil
})

// on returns a tensor float32[4] of a device.
func on(t testing.TB, device dlpack.DeviceType, id int32) *runtime.Tensor {
	t.Helper()
	require.NoError(t, fatOnce())
	return must.Open(runtime.NewTensor(dlpack.Float32, []int64{4}, dlpack.Device{Type: device, ID: id}))(t)
}

// nameKind declares a kind for a device, whose functions return their names. Its modules say that their code has a
// format.
func nameKind(t testing.TB, device dlpack.DeviceType, format string) string {
	t.Helper()
	serial++
	name := fmt.Sprintf("fat-test-%d", serial)
	build := codegen.BuildFunc(func(m *tir.IRModule, _ *target.Target) (*runtime.Module, error) {
		g := &nameModule{format: format}
		for _, f := range m.Funcs {
			g.names = append(g.names, f.Name)
		}
		return runtime.NewModule(name, runtime.Runnable, g)
	})
	_, err := target.RegisterKind(name, device, target.WithAttr(codegen.ColumnExternal, build),
		target.Option("arch", target.String), target.Option("max_threads_per_block", target.Int),
		target.Option("max_shared_memory_per_block", target.Int), target.Option("thread_warp_size", target.Int),
		target.Option("note", target.String))
	require.NoError(t, err)
	return name
}

type nameModule struct {
	runtime.ModuleBase
	names  []string
	format string
}

func (g *nameModule) Functions() []string { return g.names }

func (g *nameModule) Function(name string) (*runtime.Function, error) {
	if !slices.Contains(g.names, name) {
		return nil, runtime.ErrNotFound
	}
	return runtime.NewFunction(func(...any) (any, error) { return name, nil })
}

func (g *nameModule) SaveToBinary() ([]byte, error) {
	d := blob.DeviceModule{Format: g.format, Data: []byte("code")}
	return d.Encode(blob.Modern)
}

const fatProgram = `
func add(A: handle, B: handle) {
  buffer a: float32[4], param A
  buffer b: float32[4], param B
  for i in range(4) { b[i] = b[i] + a[i] }
}
func twice(n: int32) -> int32 { ret(n * 2) }
func nothing() { ret_none() }
`

func targetsOf(t testing.TB, list ...string) []*target.Target {
	t.Helper()
	all := make([]*target.Target, len(list))
	for i, s := range list {
		all[i] = must.Get(target.New(s))(t)
	}
	return all
}

func fatBuild(t testing.TB, program string, list ...string) (*runtime.Module, error) {
	t.Helper()
	all := targetsOf(t, list...)
	return codegen.Build(parsed(t, program), all[0], all[1:]...)
}

// fatCall returns what a function of a module returns.
func fatCall(t testing.TB, m *runtime.Module, name string, args ...any) (any, error) {
	t.Helper()
	f := must.Open(m.Function(name))(t)
	return f.Call(args...)
}

// The device of the tensors selects the variant, also in other devices' order of targets.
func TestFat_Dispatch(t *testing.T) {
	gpu, web := nameKind(t, dlpack.Metal, ""), nameKind(t, dlpack.WebGPU, "")
	for _, list := range [][]string{{"c", gpu, web}, {web, gpu, "c"}, {gpu, "c", web}} {
		m, err := fatBuild(t, fatProgram, list...)
		require.NoError(t, err)
		end := func(kind string) string { return strings.ReplaceAll(kind, "-", "_") }
		for _, name := range []string{"add", "add__c", "add__" + end(gpu), "twice", "nothing", "nothing__" + end(web)} {
			f := must.Get(m.Function(name))(t)
			require.NoError(t, f.Close())
		}
		x, y := must.Open(runtime.FromSlice([]float32{1, 2, 3, 4}))(t), must.Open(runtime.FromSlice(make([]float32, 4)))(t)
		require.Nil(t, must.Get(fatCall(t, m, "add", x, y))(t))
		require.Equal(t, []float32{1, 2, 3, 4}, must.Get(runtime.ToSlice[float32](y))(t))
		for d, kind := range map[dlpack.DeviceType]string{dlpack.Metal: gpu, dlpack.WebGPU: web} {
			require.Equal(t, "add__"+end(kind), must.Get(fatCall(t, m, "add", on(t, d, 3), on(t, d, 3)))(t))
		}
		// without tensors: the CPU's variant
		require.Equal(t, int64(14), must.Get(fatCall(t, m, "twice", 7))(t))
		require.Nil(t, must.Get(fatCall(t, m, "nothing"))(t))
		require.NoError(t, m.Close())
	}
	// no target for the CPU: the first one
	m, err := fatBuild(t, fatProgram, web, gpu)
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, int64(14), must.Get(fatCall(t, m, "twice", 7))(t))
}

// A device without a variant, and wrong arguments.
func TestFat_BadCalls(t *testing.T) {
	gpu := nameKind(t, dlpack.Metal, "")
	cpu := "c -march=" + machine.Oldest()
	m, err := fatBuild(t, fatProgram, cpu, gpu)
	require.NoError(t, err)
	defer m.Close()
	x := must.Open(runtime.FromSlice(make([]float32, 4)))(t)
	for _, row := range []struct {
		want string
		args []any
	}{
		{"add: argument 0 (a): the tensor is on cuda:2, and the file has add for cpu (" + cpu + "), metal (" + gpu +
			"): copy the tensor to a device of these, or build add for cuda, too",
			[]any{on(t, dlpack.CUDA, 2), on(t, dlpack.CUDA, 2)}},
		{"add: argument 1 (b): the tensor is on metal:0, expected cpu", []any{x, on(t, dlpack.Metal, 0)}},
		{"add: expected 2 arguments, got 0: add(a: float32[4], b: float32[4])", nil},
		{"add: expected 2 arguments, got 1", []any{x}},
		{"add: expected 2 arguments, got 3", []any{x, x, x}},
		{"add: argument 0 (a): expected float32[4], got int", []any{1, x}},
		{"add: argument 0 (a): expected float32[4], got None", []any{nil, x}},
	} {
		_, err := fatCall(t, m, "add", row.args...)
		require.ErrorContains(t, err, row.want)
	}
	_, err = fatCall(t, m, "twice", "x")
	require.ErrorContains(t, err, "twice: argument 0 (n): expected int32, got a string")
}

// The compute capability of a device selects among CUDA targets. The runtime is asked once for each device.
func TestFat_SelectsArch(t *testing.T) {
	cubin, ptx := nameKind(t, dlpack.CUDA, "cubin"), nameKind(t, dlpack.CUDA, "ptx")
	code := func(kind string, archs ...string) (all []string) {
		for _, a := range archs {
			all = append(all, kind+" -arch="+a)
		}
		return all
	}
	none := ""
	for _, row := range []struct {
		targets []string
		want    []string // by device: the end of the variant's name
	}{
		{code(cubin, "sm_80", "sm_90", "sm_75"), []string{none, "sm_75", "sm_80", "sm_80", "sm_90", none, none}},
		{append(code(cubin, "sm_86", "sm_80"), code(ptx, "sm_75")...),
			[]string{none, "sm_75", "sm_80", "sm_86", "sm_75", "sm_75", "sm_75"}},
		{code(ptx, "sm_60", "sm_90", "sm_80"), []string{"sm_60", "sm_60", "sm_80", "sm_80", "sm_90", "sm_90", "sm_90"}},
		{code(cubin, "sm_90", "sm_90a", "sm_100f", "sm_120"),
			[]string{none, none, none, none, "sm_90a", "sm_100f", "sm_120"}},
		{append(code(cubin, "sm_80"), code(ptx, "sm_80")...), []string{none, none, cubin, cubin, ptx, ptx, ptx}},
	} {
		m, err := fatBuild(t, fatProgram, row.targets...)
		require.NoError(t, err)
		f := must.Get(m.Function("add"))(t)
		for id := range capabilities {
			x := on(t, dlpack.CUDA, int32(id))
			before := fatDevices[dlpack.CUDA].asked
			for k := range 3 {
				got, err := f.Call(x, x)
				if row.want[id] == none {
					require.ErrorContains(t, err, fmt.Sprintf("add: argument 0 (a): the tensor is on cuda:%d, which has compute "+
						"capability %s, and the file has add for cuda (", id, capabilities[id]))
					continue
				}
				require.NoError(t, err, "%v: %s", row.targets, capabilities[id])
				require.Contains(t, got, strings.ReplaceAll(row.want[id], "-", "_"), "%v: %s", row.targets, capabilities[id])
				if k == 0 {
					before = fatDevices[dlpack.CUDA].asked
				}
			}
			if row.want[id] != none {
				require.Equal(t, before, fatDevices[dlpack.CUDA].asked, "the choice is remembered")
			}
		}
		require.NoError(t, f.Close())
		require.NoError(t, m.Close())
	}
	// one target: a device that cannot run it is an error of the call, too
	m, err := fatBuild(t, fatProgram, "c", cubin+" -arch=sm_80")
	require.NoError(t, err)
	defer m.Close()
	x := on(t, dlpack.CUDA, 4)
	_, err = fatCall(t, m, "add", x, x)
	require.ErrorContains(t, err, "cuda:4, which has compute capability 9.0, and the file has add for cuda ("+cubin+
		" -arch=sm_80): build it for a target that this device is suitable for, too")
	x = on(t, dlpack.CUDA, 70) // beyond what is remembered; it reports nothing
	_, err = fatCall(t, m, "add", x, x)
	require.ErrorContains(t, err, "cuda:70, which does not report attribute 4")
}

// Limits of targets select among those for other devices.
func TestFat_SelectsLimits(t *testing.T) {
	gpu := nameKind(t, dlpack.Metal, "")
	m, err := fatBuild(t, fatProgram, gpu+" -max_threads_per_block=128 -max_shared_memory_per_block=16384",
		gpu+" -max_threads_per_block=512 -max_shared_memory_per_block=16384",
		gpu+" -max_threads_per_block=128 -max_shared_memory_per_block=49152")
	require.NoError(t, err)
	defer m.Close()
	for id, want := range []string{"_2", "", "_3"} {
		x := on(t, dlpack.Metal, int32(id))
		require.Equal(t, "add__"+strings.ReplaceAll(gpu, "-", "_")+want, must.Get(fatCall(t, m, "add", x, x))(t))
	}
	x := on(t, dlpack.Metal, 3)
	_, err = fatCall(t, m, "add", x, x)
	require.ErrorContains(t, err, "metal:3, whose max_threads_per_block is 64, and the file has add for metal (")

	warps, err := fatBuild(t, fatProgram, gpu+" -thread_warp_size=32", gpu+" -thread_warp_size=64")
	require.NoError(t, err)
	defer warps.Close()
	x = on(t, dlpack.Metal, 2)
	require.Contains(t, must.Get(fatCall(t, warps, "add", x, x))(t), "_2")
	x = on(t, dlpack.Metal, 3)
	_, err = fatCall(t, warps, "add", x, x)
	require.ErrorContains(t, err, "metal:3, whose thread_warp_size is 8")
}

// Lists of targets that make no sense.
func TestFat_BadTargets(t *testing.T) {
	gpu, web := nameKind(t, dlpack.Metal, ""), nameKind(t, dlpack.WebGPU, "")
	for _, row := range []struct {
		targets []string
		want    string
	}{
		{[]string{"c", gpu, "c"}, "target c is in the list twice (0 and 2): give it once"},
		{[]string{gpu, gpu}, "target " + gpu + " is in the list twice (0 and 1)"},
		{[]string{gpu, gpu + " -host=c"}, "is in the list twice (0 and 1)"},
		{[]string{"c", "llvm"}, "targets c and llvm are both for the CPU, and nothing selects between them in a call"},
		{[]string{"c", gpu + " -host=llvm"}, "target c needs host code for c, and target " + gpu + " for llvm"},
		{[]string{gpu + " -host=c", web + " -host='c -march=x86-64-v3'"}, "give all of them one host"},
		{[]string{gpu, gpu + " -note=x"}, "function add: targets " + gpu + " and " + gpu + " -note=x are both for metal, " +
			"and nothing selects between them in a call"},
		{[]string{"c", "metal"}, `build for kind "metal": no code generator target.build.metal is enabled`},
	} {
		before := runtime.Live()
		_, err := fatBuild(t, fatProgram, row.targets...)
		require.ErrorContains(t, err, row.want, "%v", row.targets)
		require.ErrorIs(t, err, map[bool]error{true: runtime.ErrNotSupported,
			false: runtime.ErrInvalidArgument}[strings.Contains(row.want, "enabled")])
		require.Equal(t, before, runtime.Live())
	}
	_, err := codegen.Build(parsed(t, fatProgram), targetsOf(t, "c")[0], nil)
	require.ErrorContains(t, err, "build: target 1 is nil")
	_, err = codegen.BuildVariants(nil)
	require.ErrorContains(t, err, "there are no targets")
	_, err = codegen.BuildVariants([]codegen.Variant{{Target: targetsOf(t, "c")[0]}})
	require.ErrorContains(t, err, "program 0 is nil")
}

// Variants of a function have one signature, and names of variants are free.
func TestFat_BadPrograms(t *testing.T) {
	gpu := nameKind(t, dlpack.Metal, "")
	end := strings.ReplaceAll(gpu, "-", "_")
	function := func(params, buffers string) string {
		return "func f(" + params + ") {\n" + buffers + "  ret_none()\n}\n"
	}
	plain := function("A: handle, n: int32", "  var m: int32\n  buffer a: float32[m, 4], param A\n")
	for _, row := range []struct{ one, two, want string }{
		{plain, function("A: handle", "  var m: int32\n  buffer a: float32[m, 4], param A\n"),
			"function f: the number of arguments is 2 for c, and 1 for " + gpu},
		{plain, function("A: handle, n: int64", "  var m: int32\n  buffer a: float32[m, 4], param A\n"),
			"function f: argument 1 (n) is int32 for c, and int64 for " + gpu + ": variants have the same parameters"},
		{plain, function("A: handle, n: int32", "  var m: int32\n  buffer a: float16[m, 4], param A\n"),
			"function f: argument 0 (a) is float32[n0, 4] for c, and float16[n0, 4] for " + gpu},
		{plain, function("A: handle, n: int32", "  buffer a: float32[8, 4], param A\n"),
			"function f: argument 0 (a) is float32[n0, 4] for c, and float32[8, 4] for " + gpu},
		{plain, function("A: handle, n: int32", "  buffer a: float32[n, 4], param A\n"),
			"argument 0 (a) is float32[n0, 4] for c, and float32[arg1, 4] for " + gpu},
		{plain, function("A: handle, n: int32", "  buffer a: float32[4], param A\n"),
			"argument 0 (a) is float32[n0, 4] for c, and float32[4] for " + gpu},
		{plain, function("A: handle, n: int32", ""), "argument 0 (a) is float32[n0, 4] for c, and handle for " + gpu},
		{plain, function("A: handle, n: int32", "  var m: int32\n  var s: int32\n  buffer a: float32[m, 4], param A, "+
			"strides [s, 1]\n"), "for c, and float32[n0, 4] with strides [n1, 1] for " + gpu},
		{"func f() -> int32 { ret(1) }", "func f() { ret_none() }",
			"function f: the result is int32 for c, and nothing for " +
				gpu},
		{plain, plain + "func g() { ret_none() }", "function g is in the program for " + gpu + ", and not in that for c"},
		{plain + "func g() { ret_none() }", plain, "function g is in the program for c, and not in that for " + gpu},
		{"func f__c() { ret_none() }\nfunc f() { ret_none() }", "func f__c() { ret_none() }\nfunc f() { ret_none() }",
			"the variant of function f for c is named f__c, as is a function of the program: rename one"},
		{"func f() { ret_none() }\nfunc f__c() { ret_none() }", "func f() { ret_none() }\nfunc f__c() { ret_none() }",
			"the variant of function f for c is named f__c, as is a function of the program: rename one"},
		{"func f() {\n attrs {\"target\": \"llvm\"}\n ret_none() }", "func f() { ret_none() }",
			"function f has the attribute target (llvm), and its variant is for c: leave the attribute out"},
		{"func f() { ret_none() }", "func f() {\n attrs {\"calling_conv\": 2}\n ret_none() }", "function f is a kernel"},
	} {
		two := targetsOf(t, "c", gpu)
		before := runtime.Live()
		_, err := codegen.BuildVariants([]codegen.Variant{{Target: two[0], Program: parsed(t, row.one)},
			{Target: two[1], Program: parsed(t, row.two)}})
		require.ErrorContains(t, err, row.want)
		require.ErrorIs(t, err, runtime.ErrInvalidArgument)
		require.Equal(t, before, runtime.Live())
	}
	// other names are the same signature
	two := targetsOf(t, "c", gpu)
	m, err := codegen.BuildVariants([]codegen.Variant{{Target: two[0], Program: parsed(t, plain)},
		{Target: two[1], Program: parsed(t, function("X: handle, q: int32",
			"  var k: int32\n  buffer x: float32[k, 4], param X\n"))}})
	require.NoError(t, err)
	defer m.Close()
	must.Open(m.Function("f__" + end))(t)
}

// Functions call the variants of their own target.
func TestFat_Calls(t *testing.T) {
	text := inPlace("leaf", "", "1.0", "") + inPlace("trunk", "", "10.0", "func leaf(A)") +
		inPlace("branch", "", "20.0", "packed leaf(A)")
	gpu := nameKind(t, dlpack.Metal, "")
	m, err := fatBuild(t, text, "c", gpu)
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, float32(12), callInPlace(t, m, "trunk"))
	require.Equal(t, float32(22), callInPlace(t, m, "branch"))
	require.Equal(t, float32(12), callInPlace(t, m, "trunk__c"))
	x := on(t, dlpack.Metal, 0)
	require.Equal(t, "branch__"+strings.ReplaceAll(gpu, "-", "_"), must.Get(fatCall(t, m, "branch", x))(t))
}

// A composite target is one of the list; its members may be on different devices.
func TestFat_Composite(t *testing.T) {
	gpu, web := nameKind(t, dlpack.Metal, ""), nameKind(t, dlpack.WebGPU, "")
	for _, kind := range []string{gpu, web} {
		require.NoError(t, target.SetAttr(kind, target.ColumnPartitioner, target.Predicate(codegen.TakesFunctions)))
	}
	composite := fmt.Sprintf(`{"kind": "composite", "devices": [%q]}`, web)
	m, err := fatBuild(t, fatProgram, composite, "c", gpu)
	require.NoError(t, err)
	defer m.Close()
	for d, want := range map[dlpack.DeviceType]string{dlpack.WebGPU: "add__composite",
		dlpack.Metal: "add__" + strings.ReplaceAll(gpu, "-", "_")} {
		x := on(t, d, 0)
		require.Equal(t, want, must.Get(fatCall(t, m, "add", x, x))(t))
	}
	require.Equal(t, float32(2), func() float32 {
		x := must.Open(runtime.FromSlice([]float32{1, 1, 1, 1}))(t)
		must.Get(fatCall(t, m, "add", x, x))(t)
		return must.Get(runtime.ToSlice[float32](x))(t)[0]
	}())
	// a member for the CPU beside one for the CPU
	_, err = fatBuild(t, fatProgram, `{"kind": "composite", "devices": ["c"]}`, "c")
	require.ErrorContains(t, err, "are both for cpu, and nothing selects between them")
}

// A long program is compiled as several files, and exported; the library's functions are those of the module.
func TestFat_ManyFunctions(t *testing.T) {
	var program strings.Builder
	const n = 60
	for i := range n {
		var body strings.Builder
		for k := range 12 {
			fmt.Fprintf(&body, "  for i%d in range(4) { A_[i%d] = A_[i%d] + %d.0 }\n", k, k, k, i+k)
		}
		program.WriteString(inPlace(fmt.Sprint("f", i), "", "1.0", body.String()))
	}
	m, err := fatBuild(t, program.String(), "c", nameKind(t, dlpack.Metal, ""))
	require.NoError(t, err)
	defer m.Close()
	require.Equal(t, float32(1+1+12*59+66), callInPlace(t, m, "f59"))
	x := on(t, dlpack.Metal, 1)
	require.Contains(t, must.Get(fatCall(t, m, "f7", x))(t), "f7__fat_test")
	_, err = fatCall(t, m, "f7", on(t, dlpack.CUDA, 0))
	require.ErrorContains(t, err, "the file has f7 for cpu (c), metal (")
}

// The metadata of a function list its variants.
func TestFat_Metadata(t *testing.T) {
	gpu := nameKind(t, dlpack.Metal, "")
	m, err := fatBuild(t, fatProgram, "c", gpu)
	require.NoError(t, err)
	defer m.Close()
	meta := must.Get(m.Metadata("add"))(t)
	require.Equal(t, `"add(a: float32[4], b: float32[4])"`, string(meta.Values["signature"]))
	for _, want := range []string{`"device":"cpu"`, `"function":"add__c"`, `"device":"metal"`,
		`"function":"add__` + strings.ReplaceAll(gpu, "-", "_")} {
		require.Contains(t, string(meta.Values["targets"]), want)
	}
	one := must.Get(m.Metadata("add__c"))(t)
	require.NotContains(t, one.Text, "metal")
	require.NotEqual(t, string(one.Values["content_hash"]), string(meta.Values["content_hash"]))
}
