package file

import "fmt"

// Model is the content of a file (ModelProto).
type Model struct {
	IRVersion       int64   // of the format
	OpsetImports    []Opset // the versions of operators that nodes outside of functions have
	ProducerName    string  // the program that wrote the file, "" if unknown
	ProducerVersion string
	Domain          string
	ModelVersion    int64
	Doc             string
	Graph           *Graph // never nil after Parse
	Functions       []*Function
	Metadata        []Entry
}

// Opset is a set of operators.
type Opset struct {
	Domain  string // "" and "ai.onnx" are ONNX's own
	Version int64
}

// Entry is a pair of texts.
type Entry struct{ Key, Value string }

// Graph is a graph of nodes, of a model or of an attribute such as the then_branch of If (GraphProto).
type Graph struct {
	Name               string
	Doc                string
	Nodes              []*Node // sorted by dependencies, if the producer follows the specification
	Initializers       []*Tensor
	SparseInitializers []*SparseTensor
	Inputs             []*ValueInfo // before IR version 4, those of initializers are among them
	Outputs            []*ValueInfo
	ValueInfo          []*ValueInfo // of values within the graph
}

// Node is a call of an operator or of a function of the model (NodeProto).
type Node struct {
	Name       string // often ""
	OpType     string // never "" after Parse
	Domain     string
	Overload   string
	Inputs     []string // "" stands for an optional input that is left out
	Outputs    []string // "" stands for an output that is not used
	Attributes []*Attribute
}

// Attribute returns the attribute with a name, or nil.
func (n *Node) Attribute(name string) *Attribute {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// AttributeType says which field of an Attribute has the value, with the numbers of AttributeProto.AttributeType.
type AttributeType int32

// The types of attributes.
const (
	AttrUndefined     AttributeType = 0 // only without a value, in files of IR version 1
	AttrFloat         AttributeType = 1
	AttrInt           AttributeType = 2
	AttrString        AttributeType = 3
	AttrTensor        AttributeType = 4
	AttrGraph         AttributeType = 5
	AttrFloats        AttributeType = 6
	AttrInts          AttributeType = 7
	AttrStrings       AttributeType = 8
	AttrTensors       AttributeType = 9
	AttrGraphs        AttributeType = 10
	AttrSparseTensor  AttributeType = 11
	AttrSparseTensors AttributeType = 12
	AttrType          AttributeType = 13
	AttrTypes         AttributeType = 14
)

var attributeTypes = [...]string{"undefined", "float", "int", "string", "tensor", "graph", "floats", "ints", "strings",
	"tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"}

// String returns the name that ONNX's text uses: "int", "floats", "sparse_tensor".
func (t AttributeType) String() string { return nameOf(attributeTypes[:], int(t)) }

// Attribute is a named value of a node, or the default of a function's attribute (AttributeProto). Type says which of
// the fields that follow it is set. With Ref none is: the value is that of the attribute Ref of the function's call.
type Attribute struct {
	Name          string // never "" after Parse
	Ref           string
	Type          AttributeType
	Float         float32
	Int           int64
	String        string // any bytes
	Tensor        *Tensor
	Graph         *Graph
	SparseTensor  *SparseTensor
	TypeProto     *Type
	Floats        []float32
	Ints          []int64
	Strings       []string
	Tensors       []*Tensor
	Graphs        []*Graph
	SparseTensors []*SparseTensor
	TypeProtos    []*Type
}

// Function is a function that nodes call by Domain, Name and Overload (FunctionProto).
type Function struct {
	Name           string
	Domain         string
	Overload       string
	Doc            string
	Inputs         []string
	Outputs        []string
	AttributeNames []string     // attributes without a default
	Attributes     []*Attribute // attributes with their defaults
	Nodes          []*Node
	OpsetImports   []Opset // of the nodes
	ValueInfo      []*ValueInfo
}

// ValueInfo is the name and the type of a value (ValueInfoProto).
type ValueInfo struct {
	Name string // never "" after Parse
	Type *Type  // nil if unknown
}

// Kind is the kind of a value.
type Kind uint8

// The kinds.
const (
	NoKind Kind = iota // the file does not say it
	TensorKind
	SequenceKind
	MapKind
	SparseTensorKind
	OptionalKind
)

var kindNames = [...]string{"unknown", "tensor", "sequence", "map", "sparse_tensor", "optional"}

// String returns a name: "tensor", "sequence".
func (k Kind) String() string { return nameOf(kindNames[:], int(k)) }

// Type is the type of a value (TypeProto).
type Type struct {
	Kind  Kind
	Elem  DataType // of tensors and sparse tensors; of the keys of maps
	Shape Shape    // of tensors and sparse tensors
	Of    *Type    // of the elements of sequences and optionals, and of the values of maps; nil if unknown
}

// Shape is the dimensions of a tensor: nil if even their number is unknown, and not nil but empty for a scalar.
type Shape []Dim

// Dim is a dimension. The zero value is unknown.
type Dim struct {
	Known bool
	Size  int64  // if Known; at least 0
	Name  string // of a symbolic dimension; "" for others
}

// Size returns a known dimension.
func Size(n int64) Dim { return Dim{Known: true, Size: n} }

// Symbol returns a symbolic dimension: all with the same name have the same size.
func Symbol(name string) Dim { return Dim{Name: name} }

// TensorType returns the type of a tensor of known rank.
func TensorType(elem DataType, dims ...Dim) *Type {
	return &Type{Kind: TensorKind, Elem: elem, Shape: append(Shape{}, dims...)}
}

// Tensor is a tensor with its elements (TensorProto). They are in one of the fields that follow Dims; [Tensor.Bytes]
// and [Tensor.Strings] return them in one form.
type Tensor struct {
	Name     string
	DataType DataType
	Dims     []int64 // any numbers; Bytes and Strings check them

	// RawData has the elements as Bytes returns them, a view of the input; nil if another field has them.
	RawData    []byte
	FloatData  []float32
	Int32Data  []int32
	Int64Data  []int64
	DoubleData []float64
	Uint64Data []uint64
	StringData []string
	External   *ExternalData // the elements are in another file; nil if they are not
	Segment    *Segment      // the tensor is a part of one; such files are not supported
}

// ExternalData says where the elements of a tensor are, in another file.
type ExternalData struct {
	Location string // a path below the folder of the model, with slashes
	Offset   int64  // in bytes
	Length   int64  // in bytes; -1 if the file does not say it: what the tensor needs
	Checksum string // SHA-1 of the file, in hexadecimal digits, or ""; it is not verified
}

// Segment is the range of elements of a tensor that was split.
type Segment struct{ Begin, End int64 }

// SparseTensor is a tensor of which only some elements are stored; the others are zero (SparseTensorProto). Its name is
// that of Values.
type SparseTensor struct {
	Values  *Tensor // [n]; nil if missing
	Indices *Tensor // int64: [n] in row-major order, or [n, rank]; nil if missing
	Dims    []int64
}

// Name returns the name of a sparse initializer.
func (s *SparseTensor) Name() string {
	if s.Values == nil {
		return ""
	}
	return s.Values.Name
}

// nameOf returns a name from a table, or "type 17" for a number that has none.
func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("type %d", i)
	}
	return names[i]
}
