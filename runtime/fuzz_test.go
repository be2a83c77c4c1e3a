package runtime_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// treeReader makes a value from arbitrary bytes, and the value that C is expected to return for it.
type treeReader struct {
	data  []byte
	depth int
}

func (r *treeReader) byte() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *treeReader) word() uint64 {
	var w [8]byte
	n := copy(w[:], r.data)
	r.data = r.data[n:]
	return binary.LittleEndian.Uint64(w[:])
}

func (r *treeReader) text() []byte {
	n := min(int(r.byte()), len(r.data))
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

func (r *treeReader) value() (in, out any) {
	same := func(v any) (any, any) { return v, v }
	kind := r.byte() % 12
	if kind >= 9 {
		r.depth++
		defer func() { r.depth-- }()
		if r.depth > 20 {
			kind = 0
		}
	}
	switch kind {
	case 1:
		return same(int64(r.word()))
	case 2:
		f := math.Float64frombits(r.word())
		if math.IsNaN(f) {
			f = 0
		}
		return same(f)
	case 3:
		return same(r.byte()&1 == 1)
	case 4, 5:
		return same(string(r.text()))
	case 6:
		return same(append([]byte{}, r.text()...))
	case 7:
		w := r.word()
		return same(dlpack.DataType{Code: uint8(w), Bits: uint8(w >> 8), Lanes: uint16(w >> 16)})
	case 8:
		w := r.word()
		return same(dlpack.Device{Type: dlpack.DeviceType(int32(w)), ID: int32(w >> 32)})
	case 9:
		shape := runtime.Shape{}
		for range r.byte() % 8 {
			shape = append(shape, int64(r.word()))
		}
		return same(shape)
	case 10:
		list, back := []any{}, []any{}
		for range r.byte() % 8 {
			i, o := r.value()
			list, back = append(list, i), append(back, o)
		}
		return list, back
	case 11:
		return r.dict()
	}
	return nil, nil
}

// dict makes a map whose keys are distinct strings and numbers.
func (r *treeReader) dict() (in, out any) {
	m, back := runtime.Map{}, runtime.Map{}
	seen := map[any]bool{}
	for range r.byte() % 32 {
		var key any = string(r.text())
		if r.byte()&1 == 0 {
			key = int64(r.word())
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		i, o := r.value()
		m, back = append(m, runtime.Entry{Key: key, Value: i}), append(back, runtime.Entry{Key: key, Value: o})
	}
	return m, back
}

func FuzzCall_ValueTrees(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{10, 3, 1, 1, 2, 3, 4, 5, 6, 7, 8, 4, 3, 'a', 'b', 'c', 11, 2, 1, 'k', 1, 3, 1, 0, 0, 1, 2})
	f.Add([]byte{11, 31, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 10, 1, 10, 1, 10, 1, 4, 20, 'l', 'o', 'n', 'g', 'e', 'r', ' ',
		't', 'h', 'a', 'n'})
	f.Add([]byte{9, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	echo := function(f, probe(f), "echo")
	goEcho := goFunction(f, func(args ...any) (any, error) { return args[0], nil })
	callIt := function(f, probe(f), "call")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := treeReader{data: data}
		in, want := r.value()
		before := runtime.Live().Objects
		for _, got := range []any{call(t, echo, in), call(t, callIt, goEcho, in)} {
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("%#v came back as %#v", want, got)
			}
		}
		if now := runtime.Live().Objects; now != before {
			t.Fatalf("%d objects are alive, %d were", now, before)
		}
	})
}

// FuzzLoad_Blob writes arbitrary bytes as the blob of a library: the library loads or is rejected.
func FuzzLoad_Blob(f *testing.F) {
	f.Add(modernTree([]entry{lib(), of("a"), of("b")}, [][]int{{1}, {2}, nil}), true)
	f.Add(modernTree([]entry{of("r"), lib()}, [][]int{{1}, nil}), true)
	f.Add(legacyTree([]entry{lib(), oldOf("a")}, [][]int{{1}, nil}), false)
	f.Add(legacyTree([]entry{oldOf("a"), oldOf("b")}, nil), false)
	namedKind(f, nil)
	f.Fuzz(func(t *testing.T, blob []byte, modern bool) {
		source := classicSource
		if modern {
			source = probeSource
		}
		if len(blob) > blobRoom {
			return
		}
		before := stays()
		m, err := runtime.LoadBytes(ctx, withBlob(t, source, blob))
		if err == nil {
			m.Functions()
			if f, err := m.Function("who"); err == nil {
				f.Close()
			}
			m.Close()
		}
		if now := stays(); now != before {
			t.Fatalf("%+v is alive, %+v was", now, before)
		}
	})
}

// A module saves the same bytes that the loader of its kind accepted.
func FuzzKinds(f *testing.F) {
	for kind, payload := range map[string][]byte{
		"c":              must.Get(cSource(f, "int f;", "", []string{"f"}, nil).SaveToBinary())(f),
		"static_library": must.Get(staticLibrary(f, []byte("object"), "g").SaveToBinary())(f),
		"vulkan":         must.Get(must.Open(runtime.NewVulkanSource(&vulkan))(f).SaveToBinary())(f),
		"const_loader":   must.Get(must.Open(runtime.NewConstants(someConstants()))(f).SaveToBinary())(f),
		"cuda":           must.Get(imports(f, modules.Load(f, artifacts+"modern/gpu_cuda_src.so"))[0].SaveToBinary())(f),
		"metal":          []byte("anything"),
	} {
		f.Add(kind, false, payload)
		f.Add(kind, true, payload)
	}
	f.Fuzz(func(t *testing.T, kind string, legacy bool, payload []byte) {
		layout, loader := blob.Modern, "ffi.Module.load_from_bytes."
		if legacy {
			layout, loader = blob.Legacy, "runtime.module.loadbinary_"
		}
		load, err := runtime.Global(loader + kind)
		if err != nil || kind == "library" { // loading a library would run its code
			return
		}
		defer load.Close()
		v, err := load.Call(payload)
		if err != nil {
			requireError(t, err, runtime.ErrCorruptModule)
			return
		}
		m := v.(*runtime.Module)
		defer m.Close()
		got := must.Get(m.SaveToBinaryFor(layout))(t)
		require.True(t, bytes.Equal(payload, got))
		for _, name := range append(m.Functions(), "get_func_names", "get_const_var_tensor") {
			if f, err := m.Function(name); err == nil {
				v := must.Get(f.Call())(t)
				closeValue(v)
				f.Close()
			}
		}
		if _, err := m.SaveToBinaryFor(blob.Modern - layout); err != nil {
			require.True(t, isKind(err, runtime.ErrNotSupported, runtime.ErrInvalidArgument), "%v", err)
		}
	})
}
