package modelcall

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
)

// Argument describes an argument.
type Argument struct {
	Kind  Kind
	What  string // of Kind Other and Callable: what it is
	DType dlpack.DataType
	Dims  []int64 // of a tensor or shape
	Items []Argument

	Identity [2]uint64 // equal for the same object, and for equal numbers
	IsFixed  bool      // of a tensor: its elements cannot be copied
}

// String is like "float32[3, 16]", "shape[3]", "(int, None)" or "float".
func (a Argument) String() string {
	switch a.Kind {
	case Tensor, Shape:
		name := "shape"
		if a.Kind == Tensor {
			name = a.DType.String()
		}
		return name + strings.ReplaceAll(fmt.Sprint(a.Dims), " ", ", ")
	case Tuple:
		items := make([]string, len(a.Items))
		for i := range a.Items {
			items[i] = a.Items[i].String()
		}
		return "(" + strings.Join(items, ", ") + ")"
	case None:
		return "None"
	case Int:
		return "int"
	case Float:
		return "float"
	}
	return a.What
}

// checked is a type with its dimensions parsed.
type checked struct {
	Type
	exprs  []*expr // of Dims; nil for those that are not known
	fields []checked
}

func (f *Function) compile(t Type) checked {
	c := checked{Type: t}
	if (t.Kind == Tensor || t.Kind == Shape) && t.NDim >= 0 && len(t.Dims) == t.NDim {
		for _, d := range t.Dims {
			c.exprs = append(c.exprs, f.parseDim(d))
		}
	}
	for _, field := range t.Fields {
		c.fields = append(c.fields, f.compile(field))
	}
	return c
}

// values are the values of symbols, and in which parameter each was first.
type values struct {
	value [maxSymbols]int64
	from  [maxSymbols]int
	known uint64
}

// Check compares arguments with the parameters of a function that they are for.
func (f *Function) Check(params []int, args []Argument) error {
	var v values
	for i, p := range params {
		if err := f.types[p].check(&v, p, &args[i]); err != nil {
			return fmt.Errorf("%s%w", f.Label(p), err)
		}
	}
	for i, p := range params { // now that every symbol has its value
		if err := f.types[p].checkDims(f, &v, &args[i]); err != nil {
			return fmt.Errorf("%s%w", f.Label(p), err)
		}
	}
	return nil
}

func (t *checked) wrong(got *Argument, format string, args ...any) error {
	return fmt.Errorf(": expected %v, got %v%s", t.Type, got, fmt.Sprintf(format, args...))
}

// check compares all but the dimensions, and sets the symbols that are a whole dimension.
func (t *checked) check(v *values, p int, got *Argument) error {
	switch t.Kind {
	case Any:
		return nil
	case Number:
		isFloat := t.DType.Code == dlpack.CodeFloat || t.DType.Code == dlpack.CodeBFloat || t.DType == dlpack.DataType{}
		if got.Kind == Int || got.Kind == Float && isFloat || got.Kind == Other && !t.isNumber() {
			return nil
		}
		return t.wrong(got, "")
	}
	if got.Kind != t.Kind {
		return t.wrong(got, "")
	}
	switch t.Kind {
	case Tuple:
		if len(got.Items) != len(t.fields) {
			return t.wrong(got, ": %d fields, not %d", len(got.Items), len(t.fields))
		}
		for i := range t.fields {
			if err := t.fields[i].check(v, p, &got.Items[i]); err != nil {
				return fmt.Errorf(", field %d%w", i, err)
			}
		}
	case Tensor:
		if same := t.DType == got.DType || t.DType.IsBool() && got.DType.IsBool(); !same && t.DType != (dlpack.DataType{}) {
			return t.wrong(got, ": the dtype differs")
		}
		fallthrough
	case Shape:
		if t.NDim < 0 {
			return nil
		}
		if len(got.Dims) != t.NDim {
			return t.wrong(got, ": %d dimensions, not %d", len(got.Dims), t.NDim)
		}
		for i, e := range t.exprs {
			if e != nil && e.op == 's' && v.known&(1<<e.value) == 0 {
				v.value[e.value], v.from[e.value] = got.Dims[i], p
				v.known |= 1 << e.value
			}
		}
	}
	return nil
}

// isNumber is false for handles and other scalars that are no numbers.
func (t *checked) isNumber() bool {
	switch t.DType.Code {
	case dlpack.CodeInt, dlpack.CodeUInt, dlpack.CodeFloat, dlpack.CodeBFloat, dlpack.CodeBool:
		return true
	}
	return false
}

// checkDims compares the dimensions of an argument that check has accepted.
func (t *checked) checkDims(f *Function, v *values, got *Argument) error {
	for i := range t.fields {
		if err := t.fields[i].checkDims(f, v, &got.Items[i]); err != nil {
			return fmt.Errorf(", field %d%w", i, err)
		}
	}
	for i, e := range t.exprs {
		if e == nil {
			continue
		}
		want, ok := e.evaluate(v)
		if !ok || want == got.Dims[i] {
			continue
		}
		if e.op == 'n' {
			return t.wrong(got, ": dimension %d must be %d", i, want)
		}
		var why []string
		e.eachSymbol(func(s int64) {
			reason := fmt.Sprintf("%s is %d in %s", f.symbols[s], v.value[s], f.Label(v.from[s]))
			if len(why) == 0 || why[len(why)-1] != reason {
				why = append(why, reason)
			}
		})
		return t.wrong(got, ": dimension %d must be %d, because %s", i, want, strings.Join(why, " and "))
	}
	return nil
}
