package pack

import (
	"fmt"
	"strings"

	"tvmgo/dlpack"
	"tvmgo/internal/launch"
)

// Signature describes how a packed function is called. The package comment has the grammar of its text.
type Signature struct {
	Name   string // the name of the function
	Symbol string // the name of the kernels, usually the same
	Params []Param
	Launch []Launch
}

// Param is a parameter of a function and of its kernels.
type Param struct {
	Name    string // "" if it has none
	Type    dlpack.DataType
	Tensor  bool  // else a scalar
	Any     bool  // a tensor of any type and shape ("handle")
	Dims    []Dim // of a tensor that is not Any
	Const   bool  // the kernel only reads it: documentation
	Role    Role
	Strided bool // need not be contiguous
	Aligned bool // its first element must be aligned to 64 bytes
}

// Role reports whether a kernel writes the elements of a tensor. It is documentation, and selects the arguments that
// test vectors compare.
type Role int

const (
	Unspecified Role = iota // not marked
	Out                     // written
	InOut                   // read and written
)

// Dim is a dimension of a tensor, in elements: a number, a name or any.
type Dim struct {
	Size int64  // if there is neither a name nor Any
	Name string // the same name means the same size
	Any  bool   // any size is accepted
}

// Launch is one of the launch parameters of device kernels.
type Launch struct {
	Tag  string // as TVM writes it: "blockIdx.x"
	Expr *Expr  // nil: the caller passes it as a further integer argument
}

// CallerExtents returns the launch parameters that are arguments of the function because they have no expression.
func (s *Signature) CallerExtents() []Launch {
	var list []Launch
	for _, l := range s.Launch {
		if l.Expr == nil {
			list = append(list, l)
		}
	}
	return list
}

// NumArgs returns the number of arguments of the function: the parameters and CallerExtents.
func (s *Signature) NumArgs() int { return len(s.Params) + len(s.CallerExtents()) }

func (s *Signature) hasTensors() bool {
	for _, p := range s.Params {
		if p.Tensor {
			return true
		}
	}
	return false
}

// String returns the signature in its canonical form, which is parsed to an equal signature.
func (s *Signature) String() string {
	var b strings.Builder
	b.WriteString(s.Call())
	for i, l := range s.Launch {
		b.WriteString([]string{", ", " launch "}[b2i(i == 0)])
		b.WriteString(l.Tag)
		if l.Expr != nil {
			fmt.Fprintf(&b, "=%v", l.Expr)
		}
	}
	return b.String()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Call returns the signature without the launch parameters.
func (s *Signature) Call() string {
	params := make([]string, len(s.Params))
	for i := range s.Params {
		params[i] = s.Params[i].String()
	}
	name := s.Name
	if s.Symbol != s.Name {
		name += "=" + s.Symbol
	}
	return fmt.Sprintf("%s(%s)", name, strings.Join(params, ", "))
}

// String returns the parameter in the form of signatures: "a: const float32[n]".
func (p *Param) String() string {
	var b strings.Builder
	if p.Name != "" {
		b.WriteString(p.Name + ": ")
	}
	for _, m := range markers {
		if m.isSet(p) {
			b.WriteString(m.word + " ")
		}
	}
	b.WriteString(p.TypeText())
	return b.String()
}

// TypeText returns the type in the form of signatures: "float32[n, 64]", "int32", "handle".
func (p *Param) TypeText() string {
	if p.Any {
		return "handle"
	}
	if !p.Tensor {
		return p.Type.String()
	}
	dims := make([]string, len(p.Dims))
	for i, d := range p.Dims {
		dims[i] = d.String()
	}
	return fmt.Sprintf("%v[%s]", p.Type, strings.Join(dims, ", "))
}

// String returns the dimension in the form of signatures: "64", "n" or "_".
func (d Dim) String() string {
	switch {
	case d.Any:
		return "_"
	case d.Name != "":
		return d.Name
	}
	return fmt.Sprint(d.Size)
}

// markers are the words that can precede a type.
var markers = []struct {
	word  string
	set   func(*Param)
	isSet func(*Param) bool
}{
	{"const", func(p *Param) { p.Const = true }, func(p *Param) bool { return p.Const }},
	{"out", func(p *Param) { p.Role = Out }, func(p *Param) bool { return p.Role == Out }},
	{"inout", func(p *Param) { p.Role = InOut }, func(p *Param) bool { return p.Role == InOut }},
	{"strided", func(p *Param) { p.Strided = true }, func(p *Param) bool { return p.Strided }},
	{"aligned", func(p *Param) { p.Aligned = true }, func(p *Param) bool { return p.Aligned }},
}

func markerNames() string {
	names := make([]string, len(markers))
	for i, m := range markers {
		names[i] = m.word
	}
	return strings.Join(names, ", ")
}

// dynamicShared is the tag of a kernel's dynamic shared memory.
var dynamicShared = launch.Modern(launch.SharedMemory)

// tags maps the accepted spellings to tags.
var tags = func() map[string]string {
	m := map[string]string{launch.SharedMemory: dynamicShared, dynamicShared: dynamicShared, "shared": dynamicShared}
	for _, t := range launch.Tags[:launch.Cluster] {
		m[t] = t
	}
	return m
}()

const tagNames = "blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, and at the end shared " +
	"(bytes of dynamic shared memory)"
