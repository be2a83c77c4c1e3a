package tir

// Stmt is a statement: *BufferStore, *For, *While, *If, *LetStmt, *Assert, *Alloc, *AttrStmt, *Seq, or *Evaluate.
type Stmt interface{ stmt() }

// BufferStore writes an element of a buffer, or, with a vector for the last index, several.
type BufferStore struct {
	Buffer  *Buffer
	Value   Expr
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
	Var         *Var
	Min, Extent Expr
	Thread      string         // of ThreadBind: "blockIdx.x", "threadIdx.y", "vthread", …
	Annotations map[string]any // what passes say of the loop: int64, bool, float64, string
	Body        Stmt
}

// While runs Body as long as Cond holds.
type While struct {
	Cond Expr
	Body Stmt
}

// If runs Then where Cond holds, else Else, which may be nil.
type If struct {
	Cond       Expr
	Then, Else Stmt
}

// LetStmt runs Body where Var has a value.
type LetStmt struct {
	Var   *Var
	Value Expr
	Body  Stmt
}

// Assert ends the function with an error unless Cond holds. Kind is the error's ("ValueError", "TypeError", …).
type Assert struct {
	Cond          Expr
	Kind, Message string
}

// Alloc runs Body with memory for a buffer, whose scope says where.
type Alloc struct {
	Buffer *Buffer
	Body   Stmt
}

// AttrStmt says something of Body, under a key. Node may be nil; it is a *Var, *Buffer or *IterVar that is spoken of. One whose key is
// [AttrView] defines the buffer, others speak of what is defined already.
type AttrStmt struct {
	Key   string
	Node  any
	Value Expr
	Body  Stmt
}

// AttrView is the key of an AttrStmt that defines its Node, a buffer, within Body: as another one over memory that is there already, which
// Value, the buffer's Data, is the address of. See [View].
const AttrView = "buffer_view"

// AttrWrites is the key of an AttrStmt that says of its Node, a buffer, that calls within Body write to it if they are given its address.
const AttrWrites = "writes"

// View runs body, in which b is a buffer over the memory at b.Data. The memory is a parameter's, or allocated around this.
func View(b *Buffer, body Stmt) Stmt {
	return &AttrStmt{Key: AttrView, Node: b, Value: b.Data, Body: body}
}

// view is the buffer that an attribute defines; nil of others.
func (s *AttrStmt) view() *Buffer {
	if b, ok := s.Node.(*Buffer); ok && s.Key == AttrView {
		return b
	}
	return nil
}

// Seq runs statements one after the other. None of them is a Seq; see [Sequence].
type Seq struct{ Stmts []Stmt }

// Evaluate computes an expression for what it does.
type Evaluate struct{ Value Expr }

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

// Sequence is statements one after the other: nil ones are left out, sequences within are spread, and one alone is itself. Of
// none it is an empty Seq.
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
			if !isNil(s) {
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
