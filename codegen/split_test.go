package codegen_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/codegen"
	"tvmgo/dlpack"
	"tvmgo/export"
	"tvmgo/internal/testing/machine"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/text"
)

func parsed(t testing.TB, source string) *tir.IRModule {
	t.Helper()
	return must.Get(text.Parse(source))(t)
}

// goKind declares a kind whose functions are written in Go: they add by to each element of float32[4], in place. notes
// records the passes that ran.
type goKind struct {
	name  string
	by    float32
	mu    sync.Mutex
	notes []string
}

var serial int

func newGoKind(t testing.TB, by float32, parts ...target.KindOption) *goKind {
	t.Helper()
	serial++
	k := &goKind{name: fmt.Sprintf("split-test-%d", serial), by: by}
	_, err := target.RegisterKind(k.name, dlpack.CPU,
		append(parts, target.DefaultKeys("cpu"), target.WithAttr(codegen.ColumnPasses, []codegen.Pass{
			func(m *tir.IRModule, to *target.Target) (*tir.IRModule, error) {
				k.mu.Lock()
				defer k.mu.Unlock()
				for _, f := range m.Funcs {
					k.notes = append(k.notes, to.Kind().Name()+" "+f.Name)
				}
				return m, nil
			}}), target.WithAttr(codegen.ColumnExternal, codegen.BuildFunc(k.build)))...)
	require.NoError(t, err)
	return k
}

func (k *goKind) build(m *tir.IRModule, _ *target.Target) (*runtime.Module, error) {
	g := &goModule{by: k.by}
	for _, f := range m.Funcs {
		g.names = append(g.names, f.Name)
	}
	return runtime.NewModule(k.name, runtime.Runnable, g)
}

type goModule struct {
	runtime.ModuleBase
	by    float32
	names []string
}

func (g *goModule) Functions() []string { return g.names }

func (g *goModule) Function(name string) (*runtime.Function, error) {
	if slices.Contains(g.names, name) {
		return runtime.NewFunction(func(args ...any) (any, error) {
			x, err := runtime.ToSlice[float32](args[0].(*runtime.Tensor))
			if err != nil {
				return nil, err
			}
			for i := range x {
				x[i] += g.by
			}
			return nil, args[0].(*runtime.Tensor).CopyFromBytes(bytesOf(x))
		})
	}
	return nil, runtime.ErrNotFound
}

// inPlace is the text of a function that adds a number to float32[4] and then executes the given statements.
func inPlace(name, attrs, add, then string) string {
	return fmt.Sprintf("func %s(A: handle) {\n  attrs {%s}\n  buffer A_: float32[4], param A\n  for i in range(4) { "+
		"A_[i] = A_[i] + %s }\n  %s\n}\n", name, attrs, add, then)
}

func callInPlace(t testing.TB, m *runtime.Module, name string) float32 {
	t.Helper()
	f := must.Get(m.Function(name))(t)
	defer f.Close()
	x := must.Get(runtime.FromSlice([]float32{1, 1, 1, 1}))(t)
	defer x.Close()
	must.Get(f.Call(x))(t)
	s := must.Get(runtime.ToSlice[float32](x))(t)
	for _, v := range s {
		require.Equal(t, s[0], v)
	}
	return s[0]
}

// One program has functions for three targets. Each goes through the passes of its own kind, and the built module finds
// all of them.
func TestBuild_SplitsByTarget(t *testing.T) {
	before := runtime.Live()
	a, b := newGoKind(t, 100), newGoKind(t, 1000)
	text := inPlace("plain", "", "1.0", "") +
		inPlace("one", `"target": target "`+a.name+`"`, "0.0", "") +
		inPlace("two", `"target": "`+b.name+`"`, "0.0", "") +
		inPlace("three", `"target": target "`+a.name+`"`, "0.0", "") +
		inPlace("host", `"calling_conv": 1`, "10.0", "func one(A)\n  packed two(A)\n  func plain(A)")
	m := must.Get(codegen.Build(parsed(t, text), kind(t, "c")))(t)
	require.Equal(t, "c", m.Kind())
	require.Equal(t, []string{a.name + " one", a.name + " three"}, a.notes)
	require.Equal(t, []string{b.name + " two"}, b.notes)
	for name, want := range map[string]float32{"plain": 2, "one": 101, "two": 1001, "three": 101,
		"host": 1 + 10 + 100 + 1000 + 1} {
		require.Equal(t, want, callInPlace(t, m, name), name)
	}
	require.ErrorIs(t, must.Fail(m.Function("four")), runtime.ErrNotFound)
	f := must.Get(m.Function("host"))(t)
	require.NoError(t, m.Close()) // the function keeps what it calls
	x := must.Get(runtime.FromSlice([]float32{1, 1, 1, 1}))(t)
	must.Get(f.Call(x))(t)
	require.NoError(t, x.Close())
	require.NoError(t, f.Close())
	require.Equal(t, before, runtime.Live())
}

// One kind with different options counts as several targets, which are linked into one library and call each other
// there.
func TestBuild_SplitExported(t *testing.T) {
	old := `"target": target "c -march=` + machine.Oldest() + `"`
	text := inPlace("low", old, "1.0", "") +
		inPlace("high", "", "10.0", "func low(A)") + inPlace("top", old, "100.0",
		"packed high(A)")
	m := built(t, parsed(t, text), kind(t, "c"))
	path := filepath.Join(t.TempDir(), "split.so")
	require.NoError(t, export.Library(context.Background(), m, path))
	loaded := must.Open(runtime.Load(context.Background(), path))(t)
	for _, from := range []*runtime.Module{m, loaded} {
		require.Equal(t, float32(2), callInPlace(t, from, "low"))
		require.Equal(t, float32(12), callInPlace(t, from, "high"))
		require.Equal(t, float32(112), callInPlace(t, from, "top"), "low and top have one target, and high lies between them")
	}
}

// The functions of a module that are called directly find what it imports, whenever it was imported.
func TestBuild_SeesImports(t *testing.T) {
	before := runtime.Live()
	m := must.Get(codegen.Build(parsed(t, inPlace("f", "", "1.0", "packed elsewhere(A)")), kind(t, "c")))(t)
	f := must.Get(m.Function("f"))(t)
	x := must.Get(runtime.FromSlice([]float32{1, 1, 1, 1}))(t)
	require.ErrorContains(t, must.Fail(f.Call(x)), "Cannot find function elsewhere")
	other := must.Get(runtime.NewModule("late", runtime.Runnable, &goModule{by: 5, names: []string{"nowhere"}}))(t)
	dep := must.Get(runtime.NewModule("late", runtime.Runnable, &goModule{by: 7, names: []string{"elsewhere"}}))(t)
	require.NoError(t, m.Import(other))
	require.NoError(t, m.ClearImports())
	require.NoError(t, m.Import(dep))
	require.NoError(t, other.Close())
	require.NoError(t, dep.Close())
	must.Get(f.Call(x))(t)
	require.Equal(t, float32(9), callInPlace(t, m, "f"))
	for _, c := range []interface{ Close() error }{f, x, m} {
		require.NoError(t, c.Close())
	}
	require.Equal(t, before, runtime.Live())
}

// A kind's passes may hand functions to another target, whose passes then run on them.
func TestBuild_PassesHandOver(t *testing.T) {
	b := newGoKind(t, 1000)
	to := kind(t, b.name)
	serial++
	name := fmt.Sprintf("split-test-%d", serial)
	hand := func(m *tir.IRModule, _ *target.Target) (*tir.IRModule, error) {
		f := *m.Funcs[0]
		f.Attrs = map[string]any{codegen.AttrTarget: to}
		return tir.NewModule(&f)
	}
	_, err := target.RegisterKind(name, dlpack.CPU, target.WithAttr(codegen.ColumnLower, hand),
		target.WithAttr(codegen.ColumnExternal,
			func(*tir.IRModule, *target.Target) (*runtime.Module, error) { panic("nothing is left") }))
	require.NoError(t, err)
	m := built(t, parsed(t, inPlace("f", "", "0.0", "")), kind(t, name))
	require.Equal(t, float32(1001), callInPlace(t, m, "f"))
	require.Equal(t, []string{b.name + " f"}, b.notes)

	serial++
	again := fmt.Sprintf("split-test-%d", serial) // its pass hands functions back
	_, err = target.RegisterKind(again, dlpack.CPU, target.WithAttr(codegen.ColumnExternal, codegen.BuildFunc(b.build)),
		target.WithAttr(codegen.ColumnPasses, []codegen.Pass{func(m *tir.IRModule, k *target.Target) (*tir.IRModule, error) {
			f := *m.Funcs[0]
			f.Attrs = map[string]any{codegen.AttrTarget: kind(t, name)}
			return tir.NewModule(&f)
		}}))
	require.NoError(t, err)
	to = kind(t, again)
	_, err = codegen.Build(parsed(t, inPlace("f", "", "0.0", "")), kind(t, name))
	require.ErrorContains(t, err, "pass function f on to kind")
	require.ErrorContains(t, err, "one of the targets must keep the function")
}

// The constants of a kind are set in its module before a function is first called.
func TestBuild_Constants(t *testing.T) {
	serial++
	name := fmt.Sprintf("split-test-%d", serial)
	want := codegen.ConstantsFunc(func(m *tir.IRModule, _ *target.Target) (*blob.Constants, error) {
		return &blob.Constants{Names: []string{"weights"},
			Tensors: []blob.Tensor{{Shape: []int64{1}, DType: dlpack.Float32, Data: bytesOf([]float32{42})}},
			Symbols: []blob.SymbolConstants{{Symbol: m.Funcs[0].Name, Names: []string{"weights"}}}}, nil
	})
	_, err := target.RegisterKind(name, dlpack.CPU, target.WithAttr(codegen.ColumnConstants, want),
		target.WithAttr(codegen.ColumnExternal,
			func(m *tir.IRModule, _ *target.Target) (*runtime.Module, error) {
				return runtime.NewModule(name, runtime.Runnable, &weighted{name: m.Funcs[0].Name})
			}))
	require.NoError(t, err)
	text := inPlace("f", `"target": target "`+name+`"`, "0.0", "") + inPlace("g", "", "1.0", "func f(A)")
	m := built(t, parsed(t, text), kind(t, "c"))
	require.Equal(t, float32(43), callInPlace(t, m, "f"))
	require.Equal(t, float32(44), callInPlace(t, m, "g"))
}

// weighted adds a constant that it receives.
type weighted struct {
	runtime.ModuleBase
	name string
	by   float32
}

func (w *weighted) Function(name string) (*runtime.Function, error) {
	switch name {
	case w.name:
		return (&goModule{by: w.by, names: []string{name}}).Function(name)
	case "__init_" + w.name:
		return runtime.NewFunction(func(args ...any) (any, error) {
			x, err := runtime.ToSlice[float32](args[0].([]any)[0].(*runtime.Tensor))
			w.by = x[0]
			return nil, err
		})
	}
	return nil, runtime.ErrNotFound
}

func TestBuild_SplitBadInput(t *testing.T) {
	a := newGoKind(t, 1)
	odd := func(name string, column string, value any) string {
		serial++
		full := fmt.Sprintf("split-test-%s-%d", name, serial)
		must.Get(target.RegisterKind(full, dlpack.CPU, target.WithAttr(column, value)))(t)
		return full
	}
	closed := odd("closed", codegen.ColumnExternal,
		codegen.BuildFunc(func(*tir.IRModule, *target.Target) (*runtime.Module, error) {
			m, err := runtime.NewModule("x", 0, &goModule{})
			m.Close()
			return m, err
		}))
	other := odd("other", codegen.ColumnExternal,
		codegen.BuildFunc(func(*tir.IRModule, *target.Target) (*runtime.Module, error) {
			return runtime.NewModule("x", runtime.Runnable, &goModule{names: []string{"g"}})
		}))
	both := odd("both", codegen.ColumnExternal,
		codegen.BuildFunc(func(*tir.IRModule, *target.Target) (*runtime.Module, error) {
			return runtime.NewModule("x", runtime.Runnable, &goModule{names: []string{"f", "g"}})
		}))
	panics := odd("panics", codegen.ColumnPasses,
		[]codegen.Pass{func(*tir.IRModule, *target.Target) (*tir.IRModule, error) { panic("boom") }})
	require.NoError(t, codegen.Register(panics, (&goKind{name: panics}).build))
	loses := odd("loses", codegen.ColumnPasses, []func(*tir.IRModule, *target.Target) (*tir.IRModule, error){
		func(*tir.IRModule, *target.Target) (*tir.IRModule, error) { return &tir.IRModule{}, nil }})
	require.NoError(t, codegen.Register(loses, (&goKind{name: loses}).build))
	twice := odd("twice", codegen.ColumnExternal, codegen.BuildFunc((&goKind{}).build))
	require.NoError(t, codegen.Register(twice, (&goKind{name: twice}).build))
	for text, want := range map[string]string{
		inPlace("f", "", "1.0", "func g(A)") +
			inPlace("g", "", "1.0", "func f(A)"): "functions call each other recursively: f calls g calls f",
		inPlace("f", "", "1.0", "packed g(A)") + inPlace("g", `"target": target "`+a.name+`"`, "1.0",
			"packed f(A)"): "functions call each other recursively: f calls g calls f",
		inPlace("f", "", "1.0", "packed f(A)"): "functions call each other recursively: f calls f",
		inPlace("f", `"target": "nonesuch"`, "1.0",
			""): "function f: attribute target: ",
		inPlace("f", `"target": 3`, "1.0",
			""): "function f: attribute target is a int64: want a target",
		inPlace("g", "", "1.0", "") + inPlace("f", `"target": "metal"`, "1.0",
			""): `function f: build for kind "metal": no code generator target.build.metal is enabled: enabled are `,
		inPlace("f", `"calling_conv": 2`, "1.0",
			""): `function f is a kernel (attribute calling_conv is 2), and the target's kind "c" has no device`,
		inPlace("f", `"calling_conv": 7`, "1.0",
			""): "function f: attribute calling_conv is 7: want 0 or 1",
		inPlace("f", "", "1.0", "func g(intrin address_of[handle](A_[2]))") + inPlace("g", `"target": "`+a.name+`"`, "1.0",
			""): "function f calls g, which is built for another target: argument 0 (A_) must be a tensor that is a parameter " +
			"of f",
		inPlace("f", `"target": "`+closed+`"`, "1.0",
			""): "returned a closed module",
		inPlace("f", `"target": "`+other+`"`, "1.0",
			""): "the module that its code generator returned lacks function f",
		inPlace("f", `"target": "`+both+`"`, "1.0", "") +
			inPlace("g", "", "1.0", ""): "brings a function g, as does that for kind \"c\": give one another name",
		inPlace("f", `"target": "`+panics+`"`, "1.0",
			""): "pass 0: it panicked: boom",
		inPlace("f", `"target": "`+loses+`"`, "1.0",
			""): "build: passes removed function f",
		inPlace("f", `"target": "`+twice+`"`, "1.0",
			""): "it has a code generator target.build." + twice + " and another one in column codegen.external",
	} {
		m, err := codegen.Build(parsed(t, text), kind(t, "c"))
		require.ErrorContains(t, err, want)
		require.Nil(t, m)
		var e *runtime.Error
		require.ErrorAs(t, err, &e, want)
	}
	f := parsed(t, inPlace("f", "", "1.0", ""))
	f.Funcs = append(f.Funcs, f.Funcs[0])
	_, err := codegen.Build(f, kind(t, "c"))
	require.ErrorContains(t, err, `two functions are named "f"`)
	f.Funcs[1] = nil
	require.ErrorContains(t, must.Fail(codegen.Build(f, kind(t, "c"))), "the function is nil")
	require.ErrorContains(t, must.Fail(codegen.Build(f, &target.Target{})), "the target is nil")
	require.ErrorContains(t, codegen.Register("composite", (&goKind{}).build), "the kind is composite")
	for column, want := range map[string]string{codegen.ColumnLower: "codegen.Pass",
		codegen.ColumnExternal:  "codegen.BuildFunc",
		codegen.ColumnConstants: "codegen.ConstantsFunc"} {
		name := odd("column", column, "text")
		if column != codegen.ColumnExternal {
			require.NoError(t, codegen.Register(name, (&goKind{name: name}).build))
		}
		_, err = codegen.Build(parsed(t, inPlace("f", "", "1.0", "")), kind(t, name))
		require.ErrorContains(t, err, "its column "+column+" holds a string: want a "+want)
	}
	require.False(t, strings.Contains(fmt.Sprint(codegen.Kinds()), " "+"composite "))
}

// bytesOf returns the bytes of numbers in memory.
func bytesOf(x []float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
