package custom

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/export/pack"
	"tvmgo/internal/nearest"
)

// sizes has the values of names in a signature, and says where each comes from.
type sizes map[string]size

type size struct {
	value int64
	from  string // "argument 0 (x)"
}

// resolve makes the arguments of a call. With a signature, missing ones follow from it, and all are checked.
func resolve(sig *pack.Signature, o *Options) ([]*argument, error) {
	if sig == nil {
		if len(o.In)+len(o.Out) == 0 && len(o.Sizes) > 0 {
			return nil, errors.New("the file does not say which arguments the function takes: give them")
		}
		return arrange(o.In, o.Out)
	}
	if err := checkSizes(sig, o.Sizes); err != nil {
		return nil, err
	}
	given := len(o.Out)
	for _, v := range o.In {
		if _, is := v.(Output); !is {
			given++
		}
	}
	var list []*argument
	var err error
	switch n := sig.NumArgs(); {
	case given == n:
		list, err = arrange(o.In, o.Out)
	case given > n || len(o.Out) > 0:
		return nil, fmt.Errorf("%s takes %s, and %d are given", sig.Call(), plural(n, "argument"), given)
	default:
		list, err = complete(sig, o)
	}
	if err != nil {
		return nil, err
	}
	return list, check(sig, list, o.Sizes)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// checkSizes returns an error for a size that no dimension and no integer of the signature has.
func checkSizes(sig *pack.Signature, given map[string]int64) error {
	var names []string
	for _, p := range sig.Params {
		if !p.Tensor && p.Type.Code != dlpack.CodeFloat && p.Name != "" {
			names = append(names, p.Name)
		}
		for _, d := range p.Dims {
			if d.Name != "" {
				names = append(names, d.Name)
			}
		}
	}
	for name := range given {
		if slices.Contains(names, name) {
			continue
		}
		if near := nearest.Name(name, names); near != "" {
			return fmt.Errorf("%s has no size %q; did you mean %q?", sig.Call(), name, near)
		}
		return fmt.Errorf("%s has no size %q", sig.Call(), name)
	}
	return nil
}

// arrange inserts the outputs into the arguments: each at its [Output], and those without one at the end.
func arrange(in []any, out []*Array) ([]*argument, error) {
	var list []*argument
	placed := make([]bool, len(out))
	for i, v := range in {
		a := &argument{value: v}
		switch v := v.(type) {
		case Output:
			if v < 0 || int(v) >= len(out) {
				return nil, fmt.Errorf("argument %d is output %d: there are %d", i, v+1, len(out))
			}
			if placed[v] {
				return nil, fmt.Errorf("argument %d is output %d, which is used twice", i, v+1)
			}
			placed[v], a = true, &argument{array: out[v], out: true}
		case *Array:
			a = &argument{array: v}
		case int64, uint64, float64, string:
		case int:
			a.value = int64(v)
		default:
			return nil, fmt.Errorf("argument %d is a %T: give an int64, uint64, float64, string, *Array or Output", i, v)
		}
		list = append(list, a)
	}
	for i, a := range out {
		if !placed[i] {
			list = append(list, &argument{array: a, out: true})
		}
	}
	for i, a := range list {
		if err := a.valid(); err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
	}
	return list, nil
}

// complete makes arguments from a signature. Those in In come first, without the params that are only written; integers
// that are sizes may be missing too.
func complete(sig *pack.Signature, o *Options) ([]*argument, error) {
	in, err := arrange(o.In, nil)
	if err != nil {
		return nil, err
	}
	marked := slices.ContainsFunc(sig.Params, func(p pack.Param) bool { return p.Role == pack.Out })
	inputs, others := 0, 0 // tensors that are read, and further params that need a value
	for _, p := range sig.Params {
		switch {
		case p.Tensor && p.Role != pack.Out:
			inputs++
		case !p.Tensor && !isSize(sig, p):
			others++
		}
	}
	// In has only arrays for tensors, and the scalars that are sizes are missing: or it has them all.
	withSizes := len(in) > inputs+others
	list := make([]*argument, len(sig.Params))
	known := sizes{}
	for name, n := range o.Sizes {
		known[name] = size{n, "the sizes"}
	}
	next := 0
	for i, p := range sig.Params {
		switch {
		case marked && p.Role == pack.Out, next == len(in):
		case !p.Tensor && isSize(sig, p) && !withSizes && (in[next].array != nil || marked):
		default:
			list[i] = in[next]
			next++
			known.bind(p, i, list[i])
		}
	}
	if next < len(in) {
		return nil, fmt.Errorf("%s takes %s, and %d are given", sig.Call(), plural(sig.NumArgs(), "argument"), len(in))
	}
	for i, p := range sig.Params {
		if list[i] != nil {
			continue
		}
		if list[i], err = known.make(sig, i); err != nil {
			return nil, err
		}
		list[i].out = p.Tensor && (p.Role == pack.Out || !marked && len(in) > 0)
	}
	for _, l := range sig.CallerExtents() {
		return nil, fmt.Errorf("%s also takes %s: give all arguments", sig.Call(), l.Tag)
	}
	return list, nil
}

// isSize reports whether an integer param is the value of a name of a dimension.
func isSize(sig *pack.Signature, p pack.Param) bool {
	return p.Name != "" && slices.ContainsFunc(sig.Params, func(q pack.Param) bool {
		return slices.ContainsFunc(q.Dims, func(d pack.Dim) bool { return d.Name == p.Name })
	})
}

// bind records the sizes that an argument has.
func (s sizes) bind(p pack.Param, i int, a *argument) {
	set := func(name string, n int64) {
		if _, known := s[name]; !known && name != "" {
			s[name] = size{n, title(i, p.Name)}
		}
	}
	if n, ok := a.value.(int64); ok && !p.Tensor {
		set(p.Name, n)
	}
	if a.array != nil && len(a.array.Shape) == len(p.Dims) {
		for k, d := range p.Dims {
			set(d.Name, a.array.Shape[k])
		}
	}
}

// make makes the argument for a param.
func (s sizes) make(sig *pack.Signature, i int) (*argument, error) {
	p := sig.Params[i]
	missing := func(what, way string) error {
		return fmt.Errorf("%s of %s has no value: %s: %s", title(i, p.Name), sig.Call(), what, way)
	}
	switch n, known := s[p.Name]; {
	case !p.Tensor && known && p.Type.Code != dlpack.CodeFloat:
		return &argument{value: n.value}, nil
	case !p.Tensor && isSize(sig, p):
		return nil, missing("the size "+p.Name+" is not known", "give it, as in "+p.Name+"=1024, or the arrays")
	case !p.Tensor:
		return nil, missing("it is a "+p.Type.String(), "give all arguments")
	case p.Any:
		return nil, missing("it is an array of any type and shape", "give all arguments")
	}
	a := &Array{DType: p.Type, Shape: []int64{}}
	for _, d := range p.Dims {
		n := d.Size
		switch {
		case d.Any:
			return nil, missing(p.TypeText()+" has an open size", "give all arguments")
		case d.Name != "":
			v, known := s[d.Name]
			if !known {
				return nil, missing("the size "+d.Name+" is not known", "give it, as in "+d.Name+"=1024, or the arrays")
			}
			n = v.value
		}
		a.Shape = append(a.Shape, n)
	}
	made := &argument{array: a}
	if err := made.valid(); err != nil {
		return nil, fmt.Errorf("%s: %w", title(i, p.Name), err)
	}
	return made, nil
}

// title names an argument: "argument 2 (z)".
func title(i int, name string) string {
	if name == "" {
		return fmt.Sprintf("argument %d", i)
	}
	return fmt.Sprintf("argument %d (%s)", i, name)
}

// check compares arguments with a signature, and names them.
func check(sig *pack.Signature, list []*argument, given map[string]int64) error {
	if n := sig.NumArgs(); len(list) != n {
		return fmt.Errorf("%s takes %s, and %d are given", sig.Call(), plural(n, "argument"), len(list))
	}
	known := sizes{}
	for name, n := range given {
		known[name] = size{n, "the sizes"}
	}
	for i, p := range sig.Params { // dimensions refer to integers, also to later ones
		if p.Tensor {
			continue
		}
		if err := known.checkOne(p, i, list[i]); err != nil {
			return fmt.Errorf("%s of %s: %w", title(i, p.Name), sig.Call(), err)
		}
		known.bind(p, i, list[i])
	}
	for i, a := range list {
		if i >= len(sig.Params) {
			tag := sig.CallerExtents()[i-len(sig.Params)].Tag
			if n, ok := a.value.(int64); !ok || n < 0 || n > math.MaxUint32 {
				return fmt.Errorf("%s is %s, expected an integer from 0", title(i, tag), a)
			}
			continue
		}
		p := sig.Params[i]
		if a.name == "" {
			a.name = p.Name
		}
		if !p.Tensor {
			continue
		}
		if err := known.checkOne(p, i, a); err != nil {
			return fmt.Errorf("%s of %s: %w", title(i, p.Name), sig.Call(), err)
		}
		known.bind(p, i, a)
	}
	return nil
}

func (s sizes) checkOne(p pack.Param, i int, a *argument) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("got %s, expected %s%s", a, p.TypeText(), fmt.Sprintf(format, args...))
	}
	if !p.Tensor {
		return checkScalar(p, a, wrong)
	}
	switch {
	case a.array == nil:
		return wrong("")
	case p.Any:
		return nil
	case a.array.DType != p.Type && !(a.array.DType.IsBool() && p.Type.IsBool()), len(a.array.Shape) != len(p.Dims):
		return wrong("")
	}
	for k, d := range p.Dims {
		got := a.array.Shape[k]
		switch {
		case d.Any:
		case d.Name == "" && got != d.Size:
			return wrong("")
		case d.Name != "":
			if n, known := s[d.Name]; known && n.value != got {
				return wrong(" with %s = %d of %s", d.Name, n.value, n.from)
			}
			s[d.Name] = size{got, title(i, p.Name)}
		}
	}
	return nil
}

func checkScalar(p pack.Param, a *argument, wrong func(string, ...any) error) error {
	switch v := a.value.(type) {
	case float64:
		if p.Type.Code != dlpack.CodeFloat {
			return wrong("")
		}
	case int64:
		bits := int(p.Type.Bits)
		switch {
		case p.Type.IsBool() && (v < 0 || v > 1):
			return wrong(": 0 or 1")
		case p.Type.Code == dlpack.CodeInt && bits < 64 && (v < math.MinInt64>>(64-bits) || v > math.MaxInt64>>(64-bits)),
			p.Type.Code == dlpack.CodeUInt && (v < 0 || bits < 64 && v > math.MaxInt64>>(63-bits)):
			return wrong(", whose range does not have it")
		}
	case uint64:
		if p.Type != dlpack.UInt64 {
			return wrong("")
		}
	default:
		return wrong("")
	}
	return nil
}

// parseTVM reads the signature in error messages of code by Apache TVM: "vadd(A: Tensor([n, T.int64(4)], float32), m:
// int32)". nil means that it has another form.
func parseTVM(text string) *pack.Signature {
	name, rest, ok := strings.Cut(text, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	if !ok || !closed {
		return nil
	}
	sig := &pack.Signature{Name: name, Symbol: name}
	for _, part := range splitTop(rest) {
		param, typ, ok := strings.Cut(part, ": ")
		if !ok {
			return nil
		}
		p := pack.Param{Name: strings.TrimSpace(param)}
		inner, tensor := strings.CutPrefix(typ, "Tensor([")
		dtype := typ
		if tensor {
			dims, after, found := cutLast(inner, "], ")
			if !found {
				return nil
			}
			p.Tensor, dtype = true, strings.TrimSuffix(after, ")")
			for _, d := range splitTop(dims) {
				p.Dims = append(p.Dims, parseDim(d))
			}
		}
		t, err := dlpack.ParseDataType(dtype)
		if err != nil {
			return nil
		}
		p.Type = t
		sig.Params = append(sig.Params, p)
	}
	return sig
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// parseDim reads a dimension: 4, T.int64(4), n; everything else is any size.
func parseDim(text string) pack.Dim {
	if inner, ok := strings.CutPrefix(text, "T.int64("); ok {
		text = strings.TrimSuffix(inner, ")")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return pack.Dim{Size: n}
	}
	for i, c := range text {
		if c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(i > 0 && c >= '0' && c <= '9') {
			return pack.Dim{Any: true}
		}
	}
	return pack.Dim{Name: text, Any: text == ""}
}

// splitTop splits a list at commas outside of brackets.
func splitTop(text string) (parts []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, strings.TrimSpace(text[from:i])), i+1
			}
		}
	}
	if last := strings.TrimSpace(text[from:]); last != "" || len(parts) > 0 {
		parts = append(parts, last)
	}
	return parts
}
