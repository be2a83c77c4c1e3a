package file

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModel_Text(t *testing.T) {
	m := sample()
	m.Graph.Nodes = append(m.Graph.Nodes, &Node{Name: "a b", OpType: "Relu", Inputs: []string{"y"},
		Outputs: []string{"z"}})
	require.Equal(t, `<
   ir_version: 10,
   opset_import: ["" : 21, "my" : 1]
   producer_name: "test"
   producer_version: "1"
   domain: "d"
   doc_string: "doc"
   model_version: 3
   metadata key: "value"
>
main (float[N,?,0] x, double scalar, float[] any, unknown untyped, seq(float) seq, optional(seq(float)) opt, `+
		`map(string, int64) map, sparse_tensor(float[3]) sparse) => (float y) {
   float[2] w
   float[0] e
   int8[2] i
   int64 l
   double d
   uint64 u
   float[1] seg
   float[1] ext in "w.bin"
   float[1] ext2 in "w.bin"
   sparse_tensor(float[2,2]) s
   [first] y,  = my.Conv:o <f: float = 1.5, zero: float = 0.0, i: int = -1, s: string = "text\x00", `+
		`t: tensor = string[2] {…}, g: graph = then () => (unknown y) {
      y = Identity (x)
   }, fs: floats = [1.0, 2.0], is: ints = [-1, 1099511627776], none: ints = [], ss: strings = ["a", ""], `+
		`ts: tensors = [string[2] {…}], gs: graphs = [then () => (unknown y) {
      y = Identity (x)
   }, then () => (unknown y) {
      y = Identity (x)
   }], st: sparse_tensor = sparse_tensor(float[2,2]), sts: sparse_tensors = [sparse_tensor(float[2,2])], `+
		`tp: type_proto = int4, tps: type_protos = [bool[0]], ref: int = @outer> (x, , w)
   ["a b"] z = Relu (y)  # float
}
<
   domain: "my",
   opset_import: ["" : 20]
>
fn:o <n> <d: int = 2> (a) => (b) {
   b = Relu (a)
}
`, m.Text())
	require.Equal(t, []string{"[first] y = my.Conv:o (x)", `["a b"] z = Relu (y)  # float`}, func() []string {
		first := m.Graph.Nodes[0]
		first.Attributes, first.Inputs, first.Outputs = nil, []string{"x"}, []string{"y"}
		return m.Graph.Lines()
	}())
	require.Empty(t, (&Graph{}).Lines())
}

// Long lists are shortened, and names cannot be confused with what is around them.
func TestText_OfValues(t *testing.T) {
	text := (&Attribute{Type: AttrInts, Ints: make([]int64, 1000)}).valueText()
	require.Equal(t, "["+strings.Repeat("0, ", maxListed)+"… 1000 in all]", text)
	for name, want := range map[string]string{"": `""`, "a": "a", "/l/Conv:0": "/l/Conv:0", "a,b": `"a,b"`,
		"\x1b": `"\x1b"`, "é": "é", "\xff": `"\xff"`, "a b": `"a b"`} {
		require.Equal(t, want, shownName(name))
	}
	require.Equal(t, "1e+20", floatText(1e20))
	require.Equal(t, "0.1", floatText(0.1))
	require.Equal(t, "attribute type 99", "attribute "+AttributeType(99).String())
	require.Equal(t, "type -1", DataType(-1).String())
}
