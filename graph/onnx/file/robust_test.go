package file

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/blob"
	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/testseed"
)

// use calls everything that reads a model, which may have any values.
func use(m *Model) {
	_ = m.Text()
	var graph func(g *Graph)
	tensor := func(t *Tensor) {
		if t != nil {
			_ = t.Check(nil)
			_, _ = t.Bytes(nil)
			_, _ = t.Strings()
		}
	}
	sparse := func(s *SparseTensor) {
		if s == nil {
			return
		}
		if n, err := dlpack.NumElements(s.Dims); err != nil || n < 1<<16 { // more takes the time to clear memory
			_, _ = s.Dense(nil)
		}
	}
	attributes := func(list []*Attribute) {
		for _, a := range list {
			tensor(a.Tensor)
			sparse(a.SparseTensor)
			for _, g := range append(a.Graphs, a.Graph) {
				if g != nil {
					graph(g)
				}
			}
		}
	}
	graph = func(g *Graph) {
		for _, t := range g.Initializers {
			tensor(t)
		}
		for _, s := range g.SparseInitializers {
			sparse(s)
		}
		for _, n := range g.Nodes {
			attributes(n.Attributes)
		}
	}
	graph(m.Graph)
	for _, f := range m.Functions {
		attributes(f.Attributes)
	}
}

// checkParse requires that data give a model that can be used, or an error about corrupt data.
func checkParse(t testing.TB, data []byte) *Model {
	m, err := Parse(data)
	if err != nil {
		require.ErrorIs(t, err, blob.ErrCorrupt)
		require.Nil(t, m)
		return nil
	}
	use(m)
	return m
}

func TestParse_EveryPrefix(t *testing.T) {
	data := sample().Encode()
	for n := range data {
		checkParse(t, data[:n:n])
	}
}

func TestParse_EveryByteChanged(t *testing.T) {
	data := sample().Encode()
	parsed := 0
	for i, old := range data {
		for _, v := range []byte{0, 0xff, 0x7f, old ^ 1, old ^ 2, old ^ 4, old ^ 8, old ^ 16, old ^ 32, old ^ 64, old ^ 128,
			old + 1} {
			data[i] = v
			if checkParse(t, data) != nil {
				parsed++
			}
		}
		data[i] = old
	}
	require.NotZero(t, parsed)
}

// Memory stays within a multiple of the input, also for input that consists of empty messages only.
func TestParse_MemoryIsBounded(t *testing.T) {
	const n = 1 << 20
	repeated := func(around func(inner []byte) []byte, each []byte) []byte {
		return around(bytes.Repeat(each, n/len(each)))
	}
	graph := func(inner []byte) []byte { return length(7, inner) }
	inAttribute := func(fields ...[]byte) func([]byte) []byte {
		return func(inner []byte) []byte { return attribute(append(fields, text(1, "a"), inner)...) }
	}
	for name, data := range map[string][]byte{
		"tensors": repeated(graph, length(5)),
		"nodes":   repeated(graph, length(1, text(4, "A"))),
		"inputs":  repeated(graph, length(11, text(1, "A"))),
		"attributes": repeated(func(b []byte) []byte { return graph(length(1, text(4, "A"), b)) },
			length(5, text(1, "a"))),
		"tensors in one": repeated(inAttribute(), length(10)),
		"graphs in one":  repeated(inAttribute(), length(11)),
		"ints":           repeated(inAttribute(), varint(8, 1)),
		"packed ints":    repeated(func(b []byte) []byte { return attribute(text(1, "a"), length(8, b)) }, []byte{1}),
		"strings":        repeated(inAttribute(), text(9, "")),
		"entries":        repeated(func(b []byte) []byte { return append(b, graph(nil)...) }, length(14)),
		"dims": repeated(func(b []byte) []byte {
			return graph(length(11, text(1, "x"), length(2, length(1, length(2, b)))))
		}, length(1)),
		"external": repeated(func(b []byte) []byte { return graph(length(5, b)) }, length(13)),
		"unknown":  repeated(graph, varint(1000, 1)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(data)
		runtime.ReadMemStats(&after)
		if err != nil {
			require.ErrorIs(t, err, blob.ErrCorrupt, name)
		}
		// Of all that is allocated, lists that grow leave most behind for the garbage collector.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(150*len(data)), name)
	}
	err := must.Fail(Parse(repeated(graph, length(5))))
	require.ErrorContains(t, err, "the file has more messages than its size allows")
}

// The place of an error is not searched again and again.
func TestParse_DeepErrors(t *testing.T) {
	data := nested(32)
	for i := range data {
		checkParse(t, append(data[:i:i], make([]byte, 1000)...))
	}
}

// randomModel returns a model of random size whose values are those of the generator.
func randomModel(r *rand.Rand) *Model {
	g := generator{r}
	m := &Model{IRVersion: g.Int64(), ProducerName: g.name(), ProducerVersion: g.name(), Domain: g.name(),
		ModelVersion: g.Int64(), Doc: g.name(), Graph: g.graph(3)}
	list(g, &m.OpsetImports, func() Opset { return Opset{g.name(), g.Int64()} })
	list(g, &m.Metadata, func() Entry { return Entry{g.name(), g.name()} })
	list(g, &m.Functions, func() *Function {
		f := &Function{Name: g.must(), Domain: g.name(), Overload: g.name(), Doc: g.name()}
		list(g, &f.Inputs, g.name)
		list(g, &f.AttributeNames, g.name)
		list(g, &f.Attributes, func() *Attribute { return g.attribute(1) })
		list(g, &f.ValueInfo, g.info)
		return f
	})
	return m
}

type generator struct{ *rand.Rand }

func list[T any](g generator, l *[]T, one func() T) {
	for range g.IntN(4) {
		*l = append(*l, one())
	}
}

func (g generator) name() string {
	b := make([]byte, g.IntN(4))
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return string(b)
}

func (g generator) must() string { return "n" + g.name() }

func (g generator) graph(depth int) *Graph {
	v := &Graph{Name: g.name(), Doc: g.name()}
	list(g, &v.Nodes, func() *Node {
		n := &Node{Name: g.name(), OpType: g.must(), Domain: g.name(), Overload: g.name()}
		list(g, &n.Inputs, g.name)
		list(g, &n.Outputs, g.name)
		list(g, &n.Attributes, func() *Attribute { return g.attribute(depth) })
		return n
	})
	list(g, &v.Initializers, g.tensor)
	list(g, &v.SparseInitializers, g.sparse)
	list(g, &v.Inputs, g.info)
	list(g, &v.Outputs, g.info)
	list(g, &v.ValueInfo, g.info)
	return v
}

func (g generator) attribute(depth int) *Attribute {
	a := &Attribute{Name: g.must(), Type: AttributeType(1 + g.IntN(len(attributeTypes)-1))}
	graph := func() *Graph {
		if depth == 0 {
			return &Graph{}
		}
		return g.graph(depth - 1)
	}
	if g.IntN(8) == 0 {
		a.Ref = g.must()
		return a
	}
	switch a.Type {
	case AttrFloat:
		a.Float = g.Float32()
	case AttrInt:
		a.Int = g.Int64() - g.Int64()
	case AttrString:
		a.String = g.name()
	case AttrTensor:
		a.Tensor = g.tensor()
	case AttrGraph:
		a.Graph = graph()
	case AttrFloats:
		list(g, &a.Floats, g.Float32)
	case AttrInts:
		list(g, &a.Ints, g.Int64)
	case AttrStrings:
		list(g, &a.Strings, g.name)
	case AttrTensors:
		list(g, &a.Tensors, g.tensor)
	case AttrGraphs:
		list(g, &a.Graphs, graph)
	case AttrSparseTensor:
		a.SparseTensor = g.sparse()
	case AttrSparseTensors:
		list(g, &a.SparseTensors, g.sparse)
	case AttrType:
		a.TypeProto = g.typ(3)
	case AttrTypes:
		list(g, &a.TypeProtos, func() *Type { return g.typ(3) })
	}
	return a
}

func (g generator) info() *ValueInfo { return &ValueInfo{Name: g.must(), Type: g.typ(3)} }

// typ returns a type.
func (g generator) typ(depth int) *Type {
	t := &Type{Kind: Kind(g.IntN(len(kindNames)))}
	switch t.Kind {
	case NoKind:
		return &Type{}
	case MapKind, TensorKind, SparseTensorKind:
		t.Elem = DataType(g.IntN(30))
	}
	if t.Kind == TensorKind || t.Kind == SparseTensorKind {
		if g.IntN(3) > 0 {
			t.Shape = Shape{}
			list(g, (*[]Dim)(&t.Shape), func() Dim { return []Dim{Size(g.Int64()), Symbol(g.must()), {}}[g.IntN(3)] })
		}
	} else if depth > 0 {
		t.Of = g.typ(depth - 1)
	}
	return t
}

func (g generator) tensor() *Tensor {
	t := &Tensor{Name: g.name(), DataType: DataType(g.IntN(30))}
	list(g, &t.Dims, func() int64 { return g.Int64N(8) - 1 })
	switch g.IntN(9) {
	case 0:
		t.RawData = []byte(g.name())
	case 1:
		list(g, &t.FloatData, g.Float32)
	case 2:
		list(g, &t.Int32Data, func() int32 { return int32(g.Uint32()) })
	case 3:
		list(g, &t.Int64Data, func() int64 { return int64(g.Uint64()) })
	case 4:
		list(g, &t.DoubleData, g.Float64)
	case 5:
		list(g, &t.Uint64Data, g.Uint64)
	case 6:
		list(g, &t.StringData, g.name)
	case 7:
		t.External = &ExternalData{g.must(), g.Int64(), g.Int64() - 1, g.name()}
		t.External.Length = max(t.External.Length, -1)
	case 8:
		t.Segment = &Segment{g.Int64(), g.Int64()}
	}
	return t
}

func (g generator) sparse() *SparseTensor {
	s := &SparseTensor{Values: g.tensor(), Indices: g.tensor()}
	list(g, &s.Dims, func() int64 { return g.Int64N(5) })
	return s
}

func TestParse_RandomRoundTrip(t *testing.T) {
	r := testseed.Rand(t)
	for range 300 {
		m := randomModel(r)
		data := m.Encode()
		require.Equal(t, m, must.Get(Parse(data))(t))
		use(m)
		for range 20 {
			data[r.IntN(len(data))] = byte(r.Uint32())
			checkParse(t, data)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Encode())
	f.Add(nested(5))
	f.Add(attribute(text(1, "a"), varint(8, 7), length(8, []byte{1, 2})))
	f.Add(group(3, varint(1, 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m := checkParse(t, data); m != nil {
			again, err := Parse(m.Encode())
			require.NoError(t, err)
			require.Equal(t, m.Encode(), again.Encode())
		}
		for kind := range Kind(len(kindNames)) {
			if _, err := ParseValue(data, &Type{Kind: kind}); err != nil {
				require.ErrorIs(t, err, blob.ErrCorrupt)
			}
		}
	})
}

// FuzzExternal reads tensors of files whose external data exist.
func FuzzExternal(f *testing.F) {
	f.Add("w", int64(0), int64(4))
	f.Add("../w", int64(-1), int64(1)<<62)
	dir := f.TempDir()
	require.NoError(f, os.WriteFile(dir+"/w", []byte("01234567"), 0o644))
	f.Fuzz(func(t *testing.T, location string, offset, length int64) {
		external := NewExternal(os.DirFS(dir))
		defer external.Close()
		tensor := stored(location, offset, length).Graph.Initializers[0]
		if data, err := tensor.Bytes(external); err == nil {
			require.Len(t, data, 4)
		} else if errors.Is(err, blob.ErrCorrupt) {
			require.Contains(t, err.Error(), "onnx: ")
		}
	})
}
