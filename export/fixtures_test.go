package export_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/export"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

var ctx = context.Background()

// dataKind is a kind of modules that consist of bytes in a format that marks its end.
const dataKind = "test.data"

func init() {
	var err error
	for _, kind := range []string{dataKind, "relax.VMExecutable", "GraphExecutorFactory"} { // the others are in artifacts
		err = errors.Join(err, runtime.RegisterModuleKind(runtime.ModuleKind{Name: kind, Properties: runtime.Serializable,
			Load: func(p runtime.Payload) (runtime.ModuleImpl, error) { return &data{payload: p.Data}, nil }}))
	}
	err = errors.Join(err, blob.Register(dataKind, func(r *blob.Reader, _ blob.Layout) error {
		r.Bytes("data")
		return r.Err()
	}))
	if err != nil {
		panic(err)
	}
}

type data struct {
	runtime.ModuleBase
	payload []byte
}

func (d *data) Function(string) (*runtime.Function, error) {
	return nil, &runtime.Error{Kind: runtime.ErrNotFound}
}
func (d *data) SaveToBinary() ([]byte, error) { return d.payload, nil }

func newData(t testing.TB, content []byte) *runtime.Module {
	t.Helper()
	payload := append(binary.LittleEndian.AppendUint64(nil, uint64(len(content))), content...)
	return must.Open(runtime.NewModule(dataKind, runtime.Serializable, &data{payload: payload}))(t)
}

func cSource(t testing.TB, code string, functions ...string) *runtime.Module {
	t.Helper()
	return must.Open(runtime.NewCSource(code, "c", functions, nil))(t)
}

// constant returns a module with a function that returns a number, and with a context variable as in generated code.
func constant(t testing.TB, name string, value int) *runtime.Module {
	t.Helper()
	return cSource(t, fmt.Sprintf(constantSource, name, value), name)
}

const constantSource = `#include <tvm/ffi/c_api.h>
void* __tvm_ffi__library_ctx = 0;
int __tvm_ffi_%s(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = %d;
  return 0;
}
`

// classicConstant is the same for TVM v0.20 and older.
func classicConstant(t testing.TB, name string, value int) *runtime.Module {
	t.Helper()
	return cSource(t, fmt.Sprintf(classicSource, name, value), name)
}

const classicSource = `#include <tvm/runtime/c_runtime_api.h>
void* __tvm_module_ctx = 0;
int %s(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* resource) {
  ret->v_int64 = %d;
  *ret_code = kTVMArgInt;
  return 0;
}
`

// importing makes the first module import the others.
func importing(t testing.TB, m *runtime.Module, deps ...*runtime.Module) *runtime.Module {
	t.Helper()
	for _, d := range deps {
		require.NoError(t, m.Import(d))
	}
	return m
}

// exported exports into a new folder. Afterwards the folder must contain only the output, and no temporary file may be
// left.
func exported(t testing.TB, m *runtime.Module, options ...export.Option) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "deploy.so")
	require.NoError(t, export.Library(ctx, m, path, options...))
	require.Equal(t, []string{"deploy.so"}, names(t, filepath.Dir(path)))
	return path
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// call calls a function that takes and returns numbers.
func call(t testing.TB, m *runtime.Module, name string, args ...any) any {
	t.Helper()
	f := must.Get(m.Function(name))(t)
	defer f.Close()
	return must.Get(f.Call(args...))(t)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(path))(t)
}

// needs skips a test if a program is missing; on continuous integration that is a failure.
func needs(t testing.TB, program, why string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skipf("no %s, with which %s", program, why)
	return ""
}

// ---- graphs ----

// graph describes a tree of modules as seen from outside: the kind, bytes and imports of each module. Linked modules,
// and the library that contains them, are one module of kind library.
type graph map[string][]string

const library = "library"

func graphOf(t testing.TB, root *runtime.Module) graph {
	t.Helper()
	g := graph{}
	seen := map[uintptr]bool{}
	label := func(m *runtime.Module) string {
		if m.Kind() == library || m.Properties()&runtime.Exportable != 0 {
			return library
		}
		b := must.Get(m.SaveToBinary())(t)
		return fmt.Sprintf("%s %x", m.Kind(), b)
	}
	var visit func(m *runtime.Module)
	visit = func(m *runtime.Module) {
		if seen[m.ID()] {
			return
		}
		seen[m.ID()] = true
		own := label(m)
		g[own] = append(g[own], []string{}...)
		deps := must.Get(m.Imports())(t)
		for _, d := range deps {
			if name := label(d); name != own {
				g[own] = append(g[own], name)
			}
			visit(d)
			t.Cleanup(func() { d.Close() })
		}
		slices.Sort(g[own])
		g[own] = slices.Compact(g[own])
	}
	visit(root)
	for k, v := range g {
		if len(v) == 0 {
			g[k] = nil
		}
	}
	return g
}

// randomTree makes modules, each of which is imported by an earlier one, and some by several.
func randomTree(t testing.TB, r *rand.Rand, most int,
	constant func(testing.TB, string, int) *runtime.Module) (root *runtime.Module, imports [][]int, linked []bool) {
	n := 1 + r.Intn(most)
	modules := make([]*runtime.Module, n)
	imports, linked = make([][]int, n), make([]bool, n)
	for i := n - 1; i >= 0; i-- {
		if linked[i] = r.Intn(2) == 0; linked[i] {
			modules[i] = constant(t, fmt.Sprintf("f%d", i), i)
		} else {
			content := make([]byte, 4+r.Intn(300))
			r.Read(content)
			binary.LittleEndian.PutUint32(content, uint32(i))
			modules[i] = newData(t, content)
		}
	}
	for i := 1; i < n; i++ {
		for parent := range i {
			if parent == i-1-r.Intn(i) || r.Intn(4) == 0 {
				imports[parent] = append(imports[parent], i)
			}
		}
	}
	for i := range imports {
		r.Shuffle(len(imports[i]), func(a, b int) { imports[i][a], imports[i][b] = imports[i][b], imports[i][a] })
		for _, dep := range imports[i] {
			importing(t, modules[i], modules[dep])
		}
	}
	return modules[0], imports, linked
}

// mergesIntoCycle reports by exhaustive search whether merging the linked modules that module 0 reaches would make a
// cycle.
func mergesIntoCycle(imports [][]int, linked []bool) bool {
	reaches := func(from int) []bool {
		seen := make([]bool, len(imports))
		var visit func(int)
		visit = func(i int) {
			if !seen[i] {
				seen[i] = true
				for _, d := range imports[i] {
					visit(d)
				}
			}
		}
		visit(from)
		return seen
	}
	there := reaches(0)
	for a := range imports {
		if !there[a] || !linked[a] {
			continue
		}
		for _, x := range imports[a] {
			if linked[x] {
				continue
			}
			for b, reached := range reaches(x) {
				if reached && linked[b] {
					return true
				}
			}
		}
	}
	return false
}
