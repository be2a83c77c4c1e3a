package tir

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// NodeType describes a type of nodes: its name and its fields. [Walk], [Mutator], paths, [Check], and the comparison,
// hashes and JSON of other packages are derived from these descriptions, and these from the Go types of the nodes:
// every exported field of a node is a [Field], and its tag contains what the Go type does not:
//
//	Var  *Var `tir:"for,binds"`
//	Body Stmt `tir:",scoped"`
//
// The first word is the field's key in JSON, by default the field's name in lower case. The other words are the options
// of [Field].
type NodeType struct {
	Name   string  // the name of the Go type, such as "For"
	Key    string  // identifies the type in JSON: the key of one of its fields, or else the keys of all fields
	IsStmt bool    // false: an expression
	Fields []Field // in the order in which they are evaluated

	// Opaque says that passes know no more of the node than its fields. An opaque expression may read and write memory,
	// have other effects, and fail. An opaque statement may also execute the statements in it any number of times, end
	// the function, and wait for other threads. Other nodes are known to every pass, or pure: their value depends on
	// those of their parts alone, all of which are computed with it, and they do not fail.
	Opaque bool

	parts   []Field // the fields that are expressions or statements
	names   []Field // the fields that name variables, buffers and axes
	newExpr func() Expr
	newStmt func() Stmt
}

// Field describes a field of a node.
type Field struct {
	Name     string // the name in paths, such as "min"
	Key      string // the key in JSON, such as "min"
	Binds    bool   // it defines a variable, a buffer or axes
	Scoped   bool   // it is in the scope of what the node binds
	Optional bool   // JSON leaves it out if it is nil, empty or ""

	offset uintptr
	part   partKind
	*fieldType
}

type partKind uint8

const (
	noPart partKind = iota
	partExpr
	partExprs
	partStmt
	partStmts
	nameVar
	nameBuffer
	nameAxes
	nameAny
)

// trait is what passes may take for granted of a type of nodes.
type trait uint8

const (
	opaque trait = iota // nothing
	known               // all passes have a case for it, where it matters
	pure                // its value depends on those of its parts alone: see NodeType.Opaque
)

// fieldType contains the operations on fields of one Go type.
type fieldType struct {
	pointer func(field unsafe.Pointer) any
	copy    func(to, from unsafe.Pointer)
}

func fieldOf[F any]() (reflect.Type, *fieldType) {
	return reflect.TypeFor[F](), &fieldType{
		pointer: func(p unsafe.Pointer) any { return (*F)(p) },
		copy:    func(to, from unsafe.Pointer) { *(*F)(to) = *(*F)(from) },
	}
}

// fieldTypes maps the Go types that fields of nodes can have.
var fieldTypes = func() map[reflect.Type]*fieldType {
	all := map[reflect.Type]*fieldType{}
	add := func(t reflect.Type, f *fieldType) { all[t] = f }
	add(fieldOf[Expr]())
	add(fieldOf[[]Expr]())
	add(fieldOf[Stmt]())
	add(fieldOf[[]Stmt]())
	add(fieldOf[*Var]())
	add(fieldOf[*Buffer]())
	add(fieldOf[Producer]())
	add(fieldOf[*Combiner]())
	add(fieldOf[[]*IterVar]())
	add(fieldOf[any]()) // the node that an attribute refers to
	add(fieldOf[Type]())
	add(fieldOf[BinaryOp]())
	add(fieldOf[CallKind]())
	add(fieldOf[ForKind]())
	add(fieldOf[string]())
	add(fieldOf[int]())
	add(fieldOf[[]int]())
	add(fieldOf[int64]())
	add(fieldOf[float64]())
	add(fieldOf[map[string]any]())
	add(fieldOf[error]())
	return all
}()

// exprType describes a type of expressions, and stmtType one of statements.
func exprType[N any, P interface {
	*N
	Expr
}](key string, of trait) *NodeType {
	t := newNodeType(reflect.TypeFor[N](), key, of)
	t.newExpr = func() Expr { return P(new(N)) }
	return t
}

func stmtType[N any, P interface {
	*N
	Stmt
}](key string, of trait) *NodeType {
	t := newNodeType(reflect.TypeFor[N](), key, of)
	t.IsStmt = true
	t.newStmt = func() Stmt { return P(new(N)) }
	return t
}

func newNodeType(typ reflect.Type, key string, of trait) *NodeType {
	t := &NodeType{Name: typ.Name(), Key: key, Opaque: of == opaque}
	var last []Field
	for i := range typ.NumField() {
		s := typ.Field(i)
		if !s.IsExported() || s.Anonymous {
			continue
		}
		f := Field{Name: strings.ToLower(s.Name), offset: s.Offset, fieldType: fieldTypes[s.Type]}
		if f.fieldType == nil {
			panic(fmt.Sprintf("tir: field %s.%s is of Go type %s, which fieldTypes does not have", t.Name, s.Name, s.Type))
		}
		words := strings.Split(s.Tag.Get("tir"), ",")
		if f.Key = words[0]; f.Key == "" {
			f.Key = f.Name
		}
		isLast := false
		for _, w := range words[1:] {
			switch w {
			case "binds":
				f.Binds = true
			case "scoped":
				f.Scoped = true
			case "optional":
				f.Optional = true
			case "last": // evaluated after the fields that follow it
				isLast = true
			default:
				panic(fmt.Sprintf("tir: field %s.%s has the option %q, which does not exist", t.Name, s.Name, w))
			}
		}
		switch s.Type {
		case reflect.TypeFor[Expr]():
			f.part = partExpr
		case reflect.TypeFor[[]Expr]():
			f.part = partExprs
		case reflect.TypeFor[Stmt]():
			f.part = partStmt
		case reflect.TypeFor[[]Stmt]():
			f.part = partStmts
		case reflect.TypeFor[*Var]():
			f.part = nameVar
		case reflect.TypeFor[*Buffer]():
			f.part = nameBuffer
		case reflect.TypeFor[[]*IterVar]():
			f.part = nameAxes
		case reflect.TypeFor[any]():
			f.part = nameAny
		}
		if isLast {
			last = append(last, f)
		} else {
			t.Fields = append(t.Fields, f)
		}
	}
	t.Fields = append(t.Fields, last...)
	for _, f := range t.Fields {
		switch {
		case f.part >= nameVar:
			t.names = append(t.names, f)
		case f.part != noPart:
			t.parts = append(t.parts, f)
		}
	}
	nodeTypes = append(nodeTypes, t)
	return t
}

// In returns a pointer to the field in a node of the type: a *Expr, *[]Expr, *Stmt, *string, …. Callers must not write
// to it, unless they have made the node and it is not part of another yet.
func (f *Field) In(node any) any { return f.pointer(unsafe.Add(address(node), f.offset)) }

// New returns a new node of the type with empty fields.
func (t *NodeType) New() any {
	if t.IsStmt {
		return t.newStmt()
	}
	return t.newExpr()
}

// address returns a node, which is a pointer, as an unsafe.Pointer; nil for a nil node. The result is that of
// reflect.Value.UnsafePointer: the second word of the interface. It is read directly because walks need it for every
// node.
func address(node any) unsafe.Pointer { return (*[2]unsafe.Pointer)(unsafe.Pointer(&node))[1] }

func (f *Field) expr(node unsafe.Pointer) *Expr    { return (*Expr)(unsafe.Add(node, f.offset)) }
func (f *Field) exprs(node unsafe.Pointer) *[]Expr { return (*[]Expr)(unsafe.Add(node, f.offset)) }
func (f *Field) stmt(node unsafe.Pointer) *Stmt    { return (*Stmt)(unsafe.Add(node, f.offset)) }
func (f *Field) stmts(node unsafe.Pointer) *[]Stmt { return (*[]Stmt)(unsafe.Add(node, f.offset)) }

// copyFields copies all fields of a node to a new one. The type that a node remembers is not copied.
func (t *NodeType) copyFields(to, from unsafe.Pointer) {
	for i := range t.Fields {
		f := &t.Fields[i]
		f.copy(unsafe.Add(to, f.offset), unsafe.Add(from, f.offset))
	}
}

// IsNil reports whether a node is nil or a nil pointer.
func IsNil(node any) bool {
	return node == nil || TypeOf(node) != nil && address(node) == nil
}

// IsNode reports whether an expression or a statement is a node of this package, or nil. Other Go types can implement
// Expr or Stmt only by embedding one; such types may not be comparable, and then cannot be keys of maps.
func IsNode(node any) bool { return node == nil || TypeOf(node) != nil }
