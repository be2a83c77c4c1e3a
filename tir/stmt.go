package tir

// Stmt is a statement: *BufferStore, *For, *While, *If, *LetStmt, *Assert, *Alloc, *AttrStmt, *Seq, or *Evaluate.
type Stmt interface{ stmt() }

// BufferStore writes an element of a buffer, or, with a vector for the last index, several.
type BufferStore struct {
	Buffer  *Buffer `tir:"store"`
	Value   Expr    `tir:",last"`
	Indices []Expr
}

// ForKind is how the turns of a loop are run.
type ForKind uint8

// How the turns of a loop are run.
const (
	Serial     ForKind = iota // one after the other
	Parallel                  // by several threads of the CPU
	Vectorized                // as lanes of one vector; the extent is constant
	Unrolled                  // written out; the extent is constant
	ThreadBind                // by as many threads of a device: Thread says which index they have
	numForKinds
)

var forKindNames = [numForKinds]string{"for", "parallel", "vectorized", "unrolled", "thread"}

// String is the kind as the printer writes it.
func (k ForKind) String() string {
	if k >= numForKinds {
		return "invalid"
	}
	return forKindNames[k]
}

// For runs Body for Var from Min on, Extent times.
type For struct {
	Kind        ForKind
	Var         *Var `tir:"for,binds"`
	Min, Extent Expr
	Thread      string         `tir:",optional"`      // of ThreadBind: "blockIdx.x", "threadIdx.y", "vthread", …
	Annotations map[string]any `tir:"attrs,optional"` // what passes say of the loop: int64, bool, float64, string
	Body        Stmt           `tir:",scoped"`
}

// While runs Body as long as Cond holds.
type While struct {
	Cond Expr `tir:"while"`
	Body Stmt
}

// If runs Then where Cond holds, else Else, which may be nil.
type If struct {
	Cond Expr `tir:"if"`
	Then Stmt
	Else Stmt `tir:",optional"`
}

// LetStmt runs Body where Var has a value.
type LetStmt struct {
	Var   *Var `tir:"let,binds"`
	Value Expr
	Body  Stmt `tir:",scoped"`
}

// Assert ends the function with an error unless Cond holds. Kind is the error's ("ValueError", "TypeError", …).
type Assert struct {
	Cond          Expr `tir:"assert"`
	Kind, Message string
}

// Alloc runs Body with memory for a buffer, whose scope says where.
type Alloc struct {
	Buffer *Buffer `tir:"alloc,binds"`
	Body   Stmt    `tir:",scoped"`
}

// AttrStmt says something of Body, under a key. Node may be nil; it is a *Var, *Buffer or *IterVar that is spoken of.
// One whose key is [AttrView] defines the buffer, others speak of what is defined already.
type AttrStmt struct {
	Key   string `tir:"attr"`
	Node  any    `tir:",optional"`
	Value Expr   `tir:",optional"`
	Body  Stmt
}

// AttrView is the key of an AttrStmt that defines its Node, a buffer, within Body: as another one over memory that is
// there already, which Value, the buffer's Data, is the address of. See [View].
const AttrView = "buffer_view"

// AttrWrites is the key of an AttrStmt that says of its Node, a buffer, that calls within Body write to it if they are
// given its address.
const AttrWrites = "writes"

// View runs body, in which b is a buffer over the memory at b.Data. The memory is a parameter's, or allocated around
// this.
func View(b *Buffer, body Stmt) Stmt {
	return &AttrStmt{Key: AttrView, Node: b, Value: b.Data, Body: body}
}

// ViewBuffer is the buffer that an attribute with the key [AttrView] defines; nil of others.
func (s *AttrStmt) ViewBuffer() *Buffer {
	if b, ok := s.Node.(*Buffer); ok && s.Key == AttrView {
		return b
	}
	return nil
}

// Seq runs statements one after the other. None of them is a Seq; see [Sequence].
type Seq struct{ Stmts []Stmt }

// Evaluate computes an expression for what it does.
type Evaluate struct {
	Value Expr `tir:"eval"`
}

func (*BufferStore) stmt() {}
func (*For) stmt()         {}
func (*While) stmt()       {}
func (*If) stmt()          {}
func (*LetStmt) stmt()     {}
func (*Assert) stmt()      {}
func (*Alloc) stmt()       {}
func (*AttrStmt) stmt()    {}
func (*Seq) stmt()         {}
func (*Evaluate) stmt()    {}

// Sequence is statements one after the other: nil ones are left out, sequences within are spread, and one alone is
// itself. Of none it is an empty Seq.
func Sequence(stmts ...Stmt) Stmt {
	var all []Stmt
	for _, s := range stmts {
		switch s := s.(type) {
		case nil:
		case *Seq:
			if s != nil {
				all = append(all, s.Stmts...)
			}
		default:
			if !IsNil(s) {
				all = append(all, s)
			}
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return &Seq{all}
}

// IterVar is a variable that runs over a range.
type IterVar struct {
	Var         *Var
	Min, Extent Expr
	Kind        IterKind
	Thread      string // of IterThread: "threadIdx.x", …
}

// IterKind is what an IterVar is for.
type IterKind uint8

// What an IterVar is for.
const (
	IterData   IterKind = iota // an axis of a result: its points are independent
	IterReduce                 // an axis that a reduction runs over
	IterThread                 // an index of threads
	IterOpaque                 // none that a schedule may touch
	numIterKinds
)

var iterKindNames = [numIterKinds]string{"data", "reduce", "thread", "opaque"}

// String is the kind's name.
func (k IterKind) String() string {
	if k >= numIterKinds {
		return "invalid"
	}
	return iterKindNames[k]
}
