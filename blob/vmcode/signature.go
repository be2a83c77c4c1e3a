package vmcode

import (
	"encoding/json"
	"strconv"
	"strings"

	"tvmgo/dlpack"
)

// Signature is what TVM's compiler stored about a function: in the texts of its checks, it repeats the annotations of
// the program. Functions that were written by hand have none, and parameters that are not checked, such as weights that
// a caller binds, have no type.
type Signature struct {
	Parameters map[int]Type // by their numbers; those that are not known are absent
	Result     Type
}

// TypeKind is the kind of a value.
type TypeKind int

// The kinds of values.
const (
	AnyType TypeKind = iota // not known
	TensorType
	ShapeType
	TupleType
	NumberType // an int, a float or a bool
	FunctionType
)

// Type is the annotation of a value.
type Type struct {
	Kind   TypeKind
	Text   string          // as TVM prints it: `R.Tensor((n, 16), dtype="float32")`; "" if it is not known
	DType  dlpack.DataType // of a tensor or number; the zero value if it is not fixed
	Rank   int             // of a tensor or shape; -1 if it is not fixed
	Dims   []string        // of a tensor or shape whose dimensions are known: "16", "n", "n * 2"
	Fields []Type          // of a tuple
	Name   string          // of a result or of a field of it; "" if the file has none
	Device VDevice         // of a tensor; the zero value if the annotation has none
}

// VDevice is the device that an annotation names: `vdevice="opencl:0:global"`.
type VDevice struct {
	Target string // the kind of its target, such as "llvm" or "opencl"
	Index  int    // among the program's devices of this kind; -1 if the compiler left it out, as TVM's always does
	Scope  string // memory scope
}

// maxRank is the largest number of dimensions of an annotation: that of tensors.
const maxRank = 1024

// resultNames begins the text that ResultNames makes.
const resultNames = "tvmgo.results "

// namesOfResults is the rest of it, as JSON.
type namesOfResults struct {
	Function string   `json:"function"`
	Names    []string `json:"names"`
}

// ResultNames returns the text of a constant that names the results of a function: of the fields, if it returns a
// tuple. [Executable.Signatures] reads it. TVM has no such names, and ignores the constant.
func ResultNames(function string, names []string) string {
	data, err := json.Marshal(namesOfResults{function, names})
	if err != nil {
		panic(err) // strings alone
	}
	return resultNames + string(data)
}

// setNames names the result, or its fields.
func (t *Type) setNames(names []string) {
	switch {
	case t.Kind == TupleType && len(names) == len(t.Fields):
		for i := range t.Fields {
			t.Fields[i].Name = names[i]
		}
	case t.Kind != TupleType && len(names) == 1:
		t.Name = names[0]
	}
}

// Signatures returns the signature of each function.
func (e *Executable) Signatures() []Signature {
	list := make([]Signature, len(e.Functions))
	index := make(map[string]int, len(e.Functions))
	for i := range e.Functions {
		if e.Functions[i].Kind != Packed {
			index[e.Functions[i].Name] = i
		}
	}
	named := map[int][]string{}
	for i := range e.Constants {
		if text, ok := strings.CutPrefix(e.Constants[i].Text, resultNames); ok {
			var of namesOfResults
			if err := json.Unmarshal([]byte(text), &of); err == nil { // else it is the model's own text
				if at, known := index[of.Function]; known {
					named[at] = of.Names
				}
			}
			continue
		}
		name, parameter, annotation, ok := readCheck(e.Constants[i].Text)
		at, known := index[name]
		if !ok || !known || parameter >= e.Functions[at].Arity {
			continue
		}
		if s := &list[at]; parameter < 0 {
			s.Result = parseType(annotation, 0)
		} else {
			if s.Parameters == nil {
				s.Parameters = map[int]Type{}
			}
			s.Parameters[parameter] = parseType(annotation, 0)
		}
	}
	for at, names := range named {
		list[at].Result.setNames(names)
	}
	return list
}

// readCheck takes the text of a check apart: "ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor) ". The
// number of the result is -1.
func readCheck(text string) (function string, parameter int, annotation string, ok bool) {
	text, ok1 := strings.CutPrefix(text, "ErrorContext(fn=")
	text, ok2 := strings.CutSuffix(text, ") ")
	function, text, ok3 := strings.Cut(text, ", loc=")
	place, annotation, ok4 := strings.Cut(text, ", annotation=")
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return "", 0, "", false
	}
	if place == "return" {
		return function, -1, annotation, true
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(place, "param["), "]")
	n, err := strconv.ParseUint(number, 10, 31)
	return function, int(n), annotation, err == nil
}

// maxDepth is the number of tuples in tuples that are taken apart.
const maxDepth = 16

// parseType reads an annotation. What it does not know is AnyType with the text.
func parseType(text string, depth int) Type {
	t := Type{Text: text, Rank: -1}
	head, inside, called := strings.Cut(text, "(")
	inside, closed := strings.CutSuffix(inside, ")")
	if called && !closed || depth > maxDepth {
		return t
	}
	args := splitArguments(inside)
	switch head {
	case "R.Tensor", "R.Shape":
		t.Kind = TensorType
		if head == "R.Shape" {
			t.Kind = ShapeType
		}
		for _, a := range args {
			t.property(a)
		}
	case "T.Tuple", "R.Tuple":
		t.Kind = TupleType
		for _, a := range args {
			t.Fields = append(t.Fields, parseType(a, depth+1))
		}
	case "R.Callable":
		t.Kind = FunctionType
	case "R.Prim":
		t.Kind = NumberType
		if len(args) > 0 {
			t.DType = dtypeOf(args[0])
		}
	default:
		if name, ok := strings.CutPrefix(text, "T."); ok && dtypeOf(name) != (dlpack.DataType{}) {
			t.Kind, t.DType = NumberType, dtypeOf(name)
		}
	}
	return t
}

// property reads an argument of R.Tensor or R.Shape: the dimensions, dtype="float32", or ndim=2.
func (t *Type) property(text string) {
	if name, ok := strings.CutPrefix(text, "dtype="); ok {
		t.DType = dtypeOf(name)
		return
	}
	if name, ok := strings.CutPrefix(text, "vdevice="); ok {
		t.Device = deviceOf(strings.Trim(name, `"`))
		return
	}
	if number, ok := strings.CutPrefix(text, "ndim="); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil && n <= maxRank {
			t.Rank = int(n)
		}
		return
	}
	if len(text) < 2 || text[0] != '(' && text[0] != '[' {
		return
	}
	t.Dims = []string{}
	for _, d := range splitArguments(text[1 : len(text)-1]) {
		number := strings.TrimSuffix(strings.TrimPrefix(d, "T.int64("), ")")
		if _, err := strconv.ParseInt(number, 10, 64); err == nil {
			d = number
		}
		t.Dims = append(t.Dims, d)
	}
	t.Rank = len(t.Dims)
}

// deviceOf reads "opencl:0:global"; without a target it is none.
func deviceOf(text string) VDevice {
	target, rest, _ := strings.Cut(text, ":")
	number, scope, _ := strings.Cut(rest, ":")
	index, err := strconv.ParseInt(number, 10, 32)
	if err != nil || index < 0 {
		index = -1
	}
	if target == "" {
		return VDevice{}
	}
	return VDevice{Target: target, Index: int(index), Scope: scope}
}

func dtypeOf(name string) dlpack.DataType {
	t, err := dlpack.ParseDataType(strings.Trim(name, `"`))
	if err != nil {
		return dlpack.DataType{}
	}
	return t
}

// splitArguments splits at commas that are in no parentheses, brackets or quotes.
func splitArguments(text string) []string {
	var list []string
	depth, begin, inQuotes := 0, 0, false
	for i := 0; i <= len(text); i++ {
		if i < len(text) {
			switch c := text[i]; {
			case c == '"':
				inQuotes = !inQuotes
			case inQuotes:
			case c == '(' || c == '[':
				depth++
			case c == ')' || c == ']':
				depth--
			}
			if text[i] != ',' || depth != 0 || inQuotes {
				continue
			}
		}
		if part := strings.TrimSpace(text[begin:i]); part != "" {
			list = append(list, part)
		}
		begin = i + 1
	}
	return list
}
