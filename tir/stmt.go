package tir

// Stmt is a statement: *BufferStore, *For, *While, *If, *LetStmt, *Assert, *Alloc, *AttrStmt, *Seq, or *Evaluate.
type Stmt interface{ stmt() }

// BufferStore writes an element of a buffer, or several if the last index is a vector.
type BufferStore struct {
	Buffer  *Buffer `tir:"store"`
	Value   Expr    `tir:",last"`
	Indices []Expr
}

// ForKind defines how the iterations of a loop are executed.
type ForKind uint8

// The kinds of loops.
const (
	Serial     ForKind = iota // one after the other
	Parallel                  // by several threads of the CPU
	Vectorized                // as lanes of one vector; the extent is constant
	Unrolled                  // written out; the extent is constant
	ThreadBind                // each by one thread of a device: Thread names the index of the thread
	numForKinds
)

var forKindNames = [numForKinds]string{"for", "parallel", "vectorized", "unrolled", "thread"}

// String returns the kind as the printer writes it.
func (k ForKind) String() string {
	if k >= numForKinds {
		return "invalid"
	}
	return forKindNames[k]
}

// For executes Body with Var = Min, Min+1, …, Min+Extent-1.
type For struct {
	Kind        ForKind
	Var         *Var `tir:"for,binds"`
	Min, Extent Expr
	Thread      string         `tir:",optional"`      // for ThreadBind: "blockIdx.x", "threadIdx.y", "vthread", …
	Annotations map[string]any `tir:"attrs,optional"` // information for passes: int64, bool, float64, string
	Body        Stmt           `tir:",scoped"`
}

// While executes Body as long as Cond holds.
type While struct {
	Cond Expr `tir:"while"`
	Body Stmt
}

// If executes Then where Cond holds, otherwise Else, which may be nil.
type If struct {
	Cond Expr `tir:"if"`
	Then Stmt
	Else Stmt `tir:",optional"`
}

// LetStmt executes Body, in which Var is bound to Value.
type LetStmt struct {
	Var   *Var `tir:"let,binds"`
	Value Expr
	Body  Stmt `tir:",scoped"`
}

// Assert ends the function with an error unless Cond holds. Kind is the kind of the error ("ValueError", "TypeError",
// …).
type Assert struct {
	Cond          Expr `tir:"assert"`
	Kind, Message string
}

// Alloc executes Body with memory for a buffer, which is allocated in the buffer's scope.
type Alloc struct {
	Buffer *Buffer `tir:"alloc,binds"`
	Body   Stmt    `tir:",scoped"`
}

// AttrStmt attaches an attribute to Body. Node is the *Var, *Buffer or *IterVar that the attribute refers to, or nil.
// With the key [AttrView] it defines the buffer; with other keys it refers to something that is defined already.
type AttrStmt struct {
	Key   string `tir:"attr"`
	Node  any    `tir:",optional"`
	Value Expr   `tir:",optional"`
	Body  Stmt
}

// AttrView is the key of an AttrStmt that defines its Node within Body: a buffer over memory that exists already.
// Value, which is the buffer's Data, is the address of that memory. See [View].
const AttrView = "buffer_view"

// AttrWrites is the key of an AttrStmt whose Node is a buffer: calls within Body write to the buffer if they are passed
// its address.
const AttrWrites = "writes"

// AttrNonTemporal is the key of an AttrStmt whose Node is a buffer: vectors that Body stores in it bypass the caches
// where the processor has such stores. Value is 1. Other languages than C ignore it.
const AttrNonTemporal = "nontemporal"

// Keys of an AttrStmt whose Node is a buffer that the body of a loop allocates and fills first. With AttrStages it gets
// as many additional copies as Value says, which are filled in earlier iterations. AttrAsync allows asynchronous copies
// to do this. Package transform implements them (SoftwarePipeline).
const (
	AttrStages = "double_buffer_scope"
	AttrAsync  = "async"
)

// View executes body, in which b is a buffer over the memory at b.Data. The memory must be a parameter's, or allocated
// by an enclosing statement.
func View(b *Buffer, body Stmt) Stmt {
	return &AttrStmt{Key: AttrView, Node: b, Value: b.Data, Body: body}
}

// ViewBuffer returns the buffer that an attribute with the key [AttrView] defines; nil for other keys.
func (s *AttrStmt) ViewBuffer() *Buffer {
	if b, ok := s.Node.(*Buffer); ok && s.Key == AttrView {
		return b
	}
	return nil
}

// Seq executes statements one after the other. None of them is a Seq; see [Sequence].
type Seq struct{ Stmts []Stmt }

// Evaluate computes an expression for its effect.
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

// Sequence makes one statement of several: nil statements are left out, nested sequences are flattened, and a single
// statement is returned as it is. Without statements the result is an empty Seq.
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

// IterVar is a variable with the range of its values.
type IterVar struct {
	Var         *Var
	Min, Extent Expr
	Kind        IterKind
	Thread      string // for IterThread: "threadIdx.x", …
}

// IterKind defines what an IterVar is used for.
type IterKind uint8

// The kinds of IterVars.
const (
	IterData   IterKind = iota // an axis of a result: its points can be computed in any order
	IterReduce                 // an axis of a reduction
	IterThread                 // an index of a thread
	IterOpaque                 // an axis that schedules must not change
	numIterKinds
)

var iterKindNames = [numIterKinds]string{"data", "reduce", "thread", "opaque"}

// String returns the kind's name.
func (k IterKind) String() string {
	if k >= numIterKinds {
		return "invalid"
	}
	return iterKindNames[k]
}
