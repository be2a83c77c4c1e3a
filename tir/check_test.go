package tir_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/tirnodes"
	"tvmgo/target"
	. "tvmgo/tir"
	"tvmgo/tir/compare"
	"tvmgo/tir/internal/scopes"
)

// wellFormed is a module with one of each sort of node, whose parts tests spoil.
type wellFormed struct {
	module       *IRModule
	main, twice  *PrimFunc
	a, n         *Var // parameters: a tensor, and a number
	rows         *Var // of the tensor
	in, tmp      *Buffer
	loop         *For // over i
	i            *Var
	alloc        *Alloc
	seq          *Seq
	let          *LetStmt // of x
	x            *Var
	store        *BufferStore // tmp[x % 4] = let y = 2.0 in y * in[i, x % 4]
	letExpr      *Let
	y            *Var
	assert       *Assert
	branch       *If
	while        *While
	attr         *AttrStmt
	call         *Call // of twice
	evaluate     *Evaluate
	vector       *BufferStore // in[i, ramp(0, 1, 4)] = select(…)
	selected     *Select
	ramp         *Ramp
	broadcast    *Broadcast
	shuffle      *Shuffle
	cast         *Cast
	not          *Not
	index, value *IntImm
	exp          *Call
	ret          *Call
}

func newWellFormed() *wellFormed {
	w := &wellFormed{a: NewVar("a", Handle), n: NewVar("n", Int32), rows: NewVar("rows", Int32), i: NewVar("i", Int32),
		x: NewVar("x", Int32),
		y: NewVar("y", Float32)}
	v := NewVar("v", Float32)
	w.ret = Intrin("ret", Add(v, v)).(*Call)
	w.twice = &PrimFunc{Name: "twice", Params: []*Var{v}, Result: Float32, Body: &Evaluate{w.ret}}

	w.in, w.tmp = NewBuffer("A", Float32, w.rows, I32(4)), NewBuffer("T", Float32, I32(4))
	w.letExpr = &Let{Var: w.y, Value: F32(2), Body: Mul(w.y, BufferAt(w.in, w.i, FloorMod(w.x, I32(4))))}
	w.store = &BufferStore{w.tmp, w.letExpr, []Expr{FloorMod(w.x, I32(4))}}
	w.let = &LetStmt{w.x, Add(w.i, w.n), w.store}
	w.assert = &Assert{LT(w.i, w.rows), "ValueError", "i < rows"}
	w.value = &IntImm{Int32, 3}
	w.branch = &If{GT(w.n, w.value), &Evaluate{NewCall(CallExtern, Void, "f", w.tmp.Data, Text("t"))}, &Evaluate{I32(0)}}
	w.not = NewNot(EQ(w.n, I32(0))).(*Not)
	w.while = &While{w.not, &Evaluate{NewCall(CallPacked, Int32, "g")}}
	w.call = NewCall(CallFunc, Float32, "twice", BufferAt(w.tmp, I32(3))).(*Call)
	w.cast = NewCast(Float32, w.n).(*Cast)
	w.exp = Intrin("exp", w.cast).(*Call)
	w.index = &IntImm{Int32, 0}
	w.attr = &AttrStmt{"pragma", w.i, I32(1), &BufferStore{w.in, Add(w.call, w.exp), []Expr{w.i, w.index}}}
	w.ramp, w.broadcast = &Ramp{I32(0), I32(1), 4}, &Broadcast{F32(1), 4}
	w.shuffle = &Shuffle{[]Expr{w.broadcast, F32(0)}, []int{4, 3, 2, 1}}
	w.selected = NewSelect(LT(w.ramp, I32(2)), w.broadcast, w.shuffle).(*Select)
	w.vector = &BufferStore{w.in, w.selected, []Expr{w.i, w.ramp}}
	w.evaluate = &Evaluate{NewCall(CallIntrinsic, Void, "ret_none")}
	w.seq = &Seq{[]Stmt{w.let, w.assert, w.branch, w.while, w.attr, w.vector, w.evaluate}}
	w.alloc = &Alloc{w.tmp, w.seq}
	w.loop = &For{Kind: Serial, Var: w.i, Min: I32(0), Extent: w.rows, Annotations: map[string]any{"unroll": int64(2)},
		Body: w.alloc}
	w.main = &PrimFunc{Name: "main", Params: []*Var{w.a, w.n}, Buffers: map[*Var]*Buffer{w.a: w.in}, Result: Void,
		Body:  w.loop,
		Attrs: map[string]any{"pi": 3.5, "on": true, "id": int64(3), "text": "x"}}
	w.module = &IRModule{Funcs: []*PrimFunc{w.main, w.twice}}
	return w
}

// after is a statement run at the end of the loop's body, at body.for(i).body.alloc(T).body[7].
func (w *wellFormed) after(s Stmt) { w.seq.Stmts = append(w.seq.Stmts, s) }

type spoiled struct {
	name  string
	spoil func(w *wellFormed)
	want  string // Func.Path: message
}

const inLoop = "main.body.for(i).body.alloc(T).body"

var spoiledPrograms = []spoiled{
	{"nil module", func(w *wellFormed) { w.module = nil }, "tir: check: the module is nil"},
	{"nil function", func(w *wellFormed) { w.module.Funcs = append(w.module.Funcs, nil) },
		"tir: check funcs[2]: the function is nil"},
	{"names of functions", func(w *wellFormed) { w.twice.Name = "main" }, `tir: check main.` + inLoop[5:] +
		`[4].attr(pragma).body.value.a: call of function twice, which the module does not contain`},
	{"a function twice", func(w *wellFormed) { w.module.Funcs = append(w.module.Funcs, w.twice) },
		`tir: check funcs[2]: two functions are named "twice": give one another name`},
	{"function without a name", func(w *wellFormed) { w.main.Name = "" }, "tir: check: the function has no name"},
	{"function's name", func(w *wellFormed) { w.main.Name = "9a" },
		`tir: check 9a: function name "9a" is no C identifier: use letters, digits and _, and no digit first`},
	{"result", func(w *wellFormed) { w.twice.Result = Vector(Float32, 4) }, inLoop +
		"[4].attr(pragma).body.value.a: call of function twice of type float32: its result is of type float32x4"},
	{"result of a strange type", func(w *wellFormed) { w.main.Result = Type{Code: 77, Bits: 8, Lanes: 1} },
		"main: result of type"},
	{"result without ret", func(w *wellFormed) { w.twice.Body = &Evaluate{I32(0)} },
		"twice: the function has a result of type float32, and no call of ret"},
	{"ret of another type", func(w *wellFormed) { w.twice.Body = &Evaluate{Intrin("ret", I32(0))} },
		"twice.body.value: ret returns type int32, but the function's result is of type float32"},
	{"ret_none of a result", func(w *wellFormed) { w.twice.Body = w.evaluate },
		"twice.body.value: ret_none returns type void, but the function's result is of type float32"},
	{"ret within", func(w *wellFormed) { w.twice.Body = &Evaluate{&Binary{Op: OpAdd, A: w.ret, B: F32(0)}} },
		"twice.body.value.a: ret is part of an expression: make it a statement of its own, with Evaluate"},
	{"no body", func(w *wellFormed) { w.main.Body = nil }, "main.body: the statement is nil"},
	{"body that is a nil pointer", func(w *wellFormed) { w.main.Body = (*For)(nil) }, "main.body: the statement is nil"},
	{"attribute's type", func(w *wellFormed) { w.main.Attrs["id"] = 3 },
		"main.attrs[id]: the value is of Go type int: want int64, bool, float64, string or *target.Target"},
	{"attribute without key", func(w *wellFormed) { w.main.Attrs[""] = true }, "main.attrs[]: the key is empty"},
	{"attribute that is no target", func(w *wellFormed) { w.main.Attrs["target"] = (*target.Target)(nil) },
		"main.attrs[target]: the target is nil"},
	{"attribute of the module", func(w *wellFormed) { w.module.Attrs = map[string]any{"a": []int{}} },
		"attrs[a]: the value is of Go type []int: want"},
	{"annotation's type", func(w *wellFormed) { w.loop.Annotations["unroll"] = float32(1) },
		"main.body.for(i).annotations[unroll]: the value is of Go type float32: want int64, bool, float64 or string"},
	{"annotation that is a target", func(w *wellFormed) { w.loop.Annotations["unroll"] = &target.Target{} },
		"main.body.for(i).annotations[unroll]: only functions and modules can have a target"},

	{"nil parameter", func(w *wellFormed) { w.main.Params[1] = nil }, "main.params[1]: a variable is nil"},
	{"parameter without name", func(w *wellFormed) { w.n.Name = "" }, "main.params[1]: a variable has no name"},
	{"parameter twice", func(w *wellFormed) { w.main.Params = append(w.main.Params, w.n) },
		"main.params[2]: parameter n occurs twice"},
	{"parameter's type", func(w *wellFormed) { w.n.Type = Type{Code: 5, Bits: 64, Lanes: 1} },
		"main.params[1]: variable n: expressions cannot have type dtype(code=5,bits=64,lanes=1)"},
	{"parameter of no type", func(w *wellFormed) { w.n.Type = Void },
		"main.params[1]: variable n of type void has no value"},
	{"parameter that is a vector", func(w *wellFormed) { w.n.Type = Vector(Int32, 4) },
		"main.params[1]: parameter n of type int32x4: want a scalar"},
	{"buffer of no tensor", func(w *wellFormed) { w.a.Type = Int64 },
		"main: parameter a of type int64 has a buffer: want type handle"},
	{"buffer of no parameter", func(w *wellFormed) { w.main.Buffers[w.x] = w.in },
		"main: a buffer is given for x, which is no parameter"},
	{"buffer of nil", func(w *wellFormed) { w.main.Buffers[nil] = w.in },
		"main: a buffer is given for nil, which is no parameter"},
	{"nil buffer", func(w *wellFormed) { w.main.Buffers[w.a] = nil }, "main: the buffer of parameter a is nil"},
	{"buffer of two parameters", func(w *wellFormed) {
		b := NewVar("b", Handle)
		w.main.Params, w.main.Buffers[b] = append(w.main.Params, b), w.in
	}, "main: two parameters have buffer A"},
	{"buffer without name", func(w *wellFormed) { w.tmp.Name = "" },
		"main.body.for(i).body.alloc().buffer: a buffer has no name"},
	{"buffer's type", func(w *wellFormed) { w.in.DType = Void }, "main.buffer(A): buffer A: elements of type void"},
	{"buffer's shape", func(w *wellFormed) { w.in.Shape[1] = F32(4) },
		"main.buffer(A).shape[1]: of type float32: want an integer"},
	{"buffer's shape of nil", func(w *wellFormed) { w.in.Shape[1] = nil },
		"main.buffer(A).shape[1]: the expression is nil"},
	{"buffer's negative shape", func(w *wellFormed) { w.tmp.Shape[0] = I32(-1) },
		"main.body.for(i).body.alloc(T).buffer.shape[0]: -1 is negative"},
	{"buffer's shape of what comes later", func(w *wellFormed) { w.in.Shape[1] = Add(w.i, I32(1)) },
		"main.buffer(A).shape[1].a: variable i is not defined"},
	{"buffer's strides", func(w *wellFormed) { w.in.Strides = []Expr{I32(1)} },
		"main.buffer(A).strides: buffer A has 2 dimensions, and 1 strides"},
	{"buffer's stride", func(w *wellFormed) { w.in.Strides = []Expr{I32(1), BoolConst(true)} },
		"main.buffer(A).strides[1]: of type bool: want an integer"},
	{"buffer's offset", func(w *wellFormed) { w.in.Offset = I64(-8) }, "main.buffer(A).offset: -8 is negative"},
	{"buffer's alignment", func(w *wellFormed) { w.in.Alignment = 24 },
		"main.buffer(A): buffer A: alignment 24 is no power of two"},
	{"buffer without address", func(w *wellFormed) { w.in.Data = nil },
		"main.buffer(A): buffer A has no address: Data is nil"},
	{"buffer's address", func(w *wellFormed) { w.in.Data.Type = Int64 },
		"main.buffer(A).data: the address of buffer A is of type int64: want handle"},
	{"two buffers of one address", func(w *wellFormed) { w.tmp.Data = w.in.Data },
		"main.body.for(i).body.alloc(T).buffer.data: variable A is defined twice: make a new one"},

	{"variable from nowhere", func(w *wellFormed) { w.let.Value = NewVar("z", Int32) }, inLoop +
		"[0].let(x).value: variable z is not defined"},
	{"variable outside of its scope", func(w *wellFormed) { w.after(&Evaluate{w.x}) }, inLoop +
		"[7].value: variable x is used outside of its scope"},
	{"shared expression outside of its scope", func(w *wellFormed) { w.after(&Evaluate{w.store.Indices[0]}) }, inLoop +
		"[7].value.a: variable x is used outside of its scope"},
	{"variable in its own value", func(w *wellFormed) { w.let.Value = w.x }, inLoop +
		"[0].let(x).value: variable x is not defined"},
	{"variable of a let beyond", func(w *wellFormed) { w.after(&Evaluate{w.y}) }, inLoop +
		"[7].value: variable y is used outside of its scope"},
	{"variable twice, one in the other", func(w *wellFormed) { w.let.Var = w.i }, inLoop +
		"[0].let(i): variable i is defined twice: make a new one"},
	{"variable twice, one after the other", func(w *wellFormed) { w.after(&LetStmt{w.x, I32(1), &Evaluate{w.x}}) },
		inLoop + "[7].let(x): variable x is defined twice: make a new one"},
	{"buffer from nowhere", func(w *wellFormed) { w.vector.Buffer = NewBuffer("B", Float32, w.rows, I32(4)) }, inLoop +
		"[5]: buffer B is not defined: no parameter has it, and no Alloc defines it"},
	{"buffer outside of its scope", func(w *wellFormed) {
		w.main.Body = Sequence(w.loop, &BufferStore{w.tmp, F32(1), []Expr{I32(0)}})
	}, "main.body[1]: buffer T is used outside of its scope"},
	{"buffer allocated twice", func(w *wellFormed) { w.after(&Alloc{w.tmp, &Evaluate{I32(0)}}) }, inLoop +
		"[7].alloc(T).buffer.data: variable T is defined twice: make a new one"},

	{"loop's kind", func(w *wellFormed) { w.loop.Kind = 9 }, "main.body.for(i): kind 9 of loops does not exist"},
	{"loop over nothing", func(w *wellFormed) { w.loop.Var = nil }, "main.body.for(nil): a variable is nil"},
	{"loop over floats", func(w *wellFormed) { w.i.Type = Float32 },
		"main.body.for(i): loop over a variable of type float32: want an integer"},
	{"loop from another type", func(w *wellFormed) { w.loop.Min = I64(0) },
		"main.body.for(i): loop over a variable of type int32 from a value of type int64: cast it"},
	{"loop as often as another type", func(w *wellFormed) { w.loop.Extent = I64(4) },
		"main.body.for(i): loop over a variable of type int32 with an extent of type int64: cast it"},
	{"loop without an extent", func(w *wellFormed) { w.loop.Extent = nil },
		"main.body.for(i).extent: the expression is nil"},
	{"vector of unknown extent", func(w *wellFormed) { w.loop.Kind = Vectorized },
		"main.body.for(i): the extent of a loop of kind vectorized is not constant"},
	{"unrolled unknown extent", func(w *wellFormed) { w.loop.Kind = Unrolled },
		"main.body.for(i): the extent of a loop of kind unrolled is not constant"},
	{"vector of too many lanes", func(w *wellFormed) { w.loop.Kind, w.loop.Extent = Vectorized, I32(4096) },
		"main.body.for(i): a loop of 4096 iterations cannot be vectorized: want 1 to 1024"},
	{"threads without a name", func(w *wellFormed) { w.loop.Kind = ThreadBind },
		"main.body.for(i): a loop over threads does not name them: set Thread, for example to threadIdx.x"},
	{"unknown threads", func(w *wellFormed) { w.loop.Kind, w.loop.Thread = ThreadBind, "threadIdx.w" },
		`main.body.for(i): unknown thread "threadIdx.w": want one of`},
	{"threads of a serial loop", func(w *wellFormed) { w.loop.Thread = "threadIdx.x" },
		`main.body.for(i): thread "threadIdx.x" of a loop of kind for: only loops of kind thread have one`},

	{"let's type", func(w *wellFormed) { w.let.Value = I64(1) }, inLoop +
		"[0].let(x): variable x of type int32 has a value of type int64: cast it"},
	{"let of nothing", func(w *wellFormed) { w.letExpr.Var = nil }, inLoop + "[0].let(x).body.value: a variable is nil"},
	{"let's type in an expression", func(w *wellFormed) { w.letExpr.Value = F64(1) }, inLoop +
		"[0].let(x).body.value: variable y of type float32 has a value of type float64: cast it"},
	{"let without a body", func(w *wellFormed) { w.letExpr.Body = nil }, inLoop +
		"[0].let(x).body.value.body: the expression is nil"},
	{"stored type", func(w *wellFormed) { w.store.Value = I32(1) }, inLoop +
		"[0].let(x).body: a value of type int32 is stored to buffer T, whose element is of type float32: cast it"},
	{"stored lanes", func(w *wellFormed) { w.vector.Value = F32(1) }, inLoop +
		"[5]: a value of type float32 is stored to buffer A, whose element is of type float32x4: cast it"},
	{"store to nothing", func(w *wellFormed) { w.store.Buffer = nil }, inLoop + "[0].let(x).body: the buffer is nil"},
	{"too few indices", func(w *wellFormed) { w.vector.Indices = []Expr{w.ramp} }, inLoop +
		"[5]: buffer A has 2 dimensions, and 1 indices"},
	{"index that is none", func(w *wellFormed) { w.store.Indices[0] = F32(1) }, inLoop +
		"[0].let(x).body.indices[0]: index of type float32: want an integer"},
	{"vector that is not last", func(w *wellFormed) { w.vector.Indices = []Expr{w.ramp, w.ramp} }, inLoop +
		"[5].indices[0]: index of type int32x4: only the last one may be a vector"},
	{"index beyond", func(w *wellFormed) { w.index.Value = 4 }, inLoop +
		"[4].attr(pragma).body.indices[1]: index 4 is outside of dimension 1 of buffer A, which has 4"},
	{"negative index", func(w *wellFormed) { w.index.Value = -1 }, inLoop +
		"[4].attr(pragma).body.indices[1]: index -1 of buffer A is negative"},
	{"vector beyond", func(w *wellFormed) { w.ramp.Base = I32(1) }, inLoop +
		"[5].indices[1]: index 4 is outside of dimension 1 of buffer A, which has 4"},
	{"vector of too many lanes in all", func(w *wellFormed) {
		b := NewBuffer("B", Vector(Float32, 512), I32(4))
		w.after(&Alloc{b, &Evaluate{&BufferLoad{Buffer: b, Indices: []Expr{w.ramp}}}})
	}, inLoop + "[7].alloc(B).body.value: 4 lanes of type float32x512: want at most 1024 in all"},

	{"assertion's kind", func(w *wellFormed) { w.assert.Kind = "" }, inLoop + "[1]: the assertion has no kind of error"},
	{"assertion's condition", func(w *wellFormed) { w.assert.Cond = w.n }, inLoop +
		"[1].cond: condition of type int32: want bool"},
	{"condition of several lanes", func(w *wellFormed) { w.branch.Cond = w.selected.Cond }, inLoop +
		"[2].if.cond: condition of type boolx4: want bool"},
	{"branch to nothing", func(w *wellFormed) { w.branch.Then = nil }, inLoop + "[2].if.then: the statement is nil"},
	{"branch to a nil pointer", func(w *wellFormed) { w.branch.Else = (*Seq)(nil) }, inLoop +
		"[2].if.else: the statement is nil"},
	{"loop's condition", func(w *wellFormed) { w.while.Cond = nil }, inLoop + "[3].while.cond: the expression is nil"},
	{"loop without a body", func(w *wellFormed) { w.while.Body = nil }, inLoop + "[3].while.body: the statement is nil"},
	{"attribute's key", func(w *wellFormed) { w.attr.Key = "" }, inLoop + "[4].attr(): the attribute has no key"},
	{"attribute of what is no node", func(w *wellFormed) { w.attr.Node = 1 }, inLoop +
		"[4].attr(pragma).node: the attribute is of a int: want a *Var, *Buffer or *IterVar"},
	{"attribute of nil", func(w *wellFormed) { w.attr.Node = (*IterVar)(nil) }, inLoop +
		"[4].attr(pragma).node: the axis is nil"},
	{"attribute of what is elsewhere", func(w *wellFormed) { w.attr.Node = w.x }, inLoop +
		"[4].attr(pragma).node: variable x is used outside of its scope"},
	{"attribute of an axis elsewhere", func(w *wellFormed) { w.attr.Node = &IterVar{w.x, I32(0), I32(1), IterData, ""} },
		inLoop + "[4].attr(pragma).node.var: variable x is used outside of its scope"},
	{"attribute of an axis of a strange kind", func(w *wellFormed) { w.attr.Node = &IterVar{w.i, I32(0), I32(1), 9, ""} },
		inLoop + "[4].attr(pragma).node: kind 9 of axes does not exist"},
	{"attribute without value", func(w *wellFormed) { w.attr.Value = nil }, inLoop +
		"[4].attr(pragma).value: the expression is nil"},
	{"nil in a sequence", func(w *wellFormed) { w.seq.Stmts[1] = nil }, inLoop + "[1]: the statement is nil"},
	{"sequence in a sequence", func(w *wellFormed) { w.seq.Stmts[1] = &Seq{} }, inLoop +
		"[1]: a Seq contains a Seq: use Sequence, which flattens them"},
	{"sequence in itself", func(w *wellFormed) { w.branch.Then = w.seq }, inLoop + "[2].if.then: Seq contains itself"},

	{"types of an operation", func(w *wellFormed) { w.letExpr.Body.(*Binary).A = I32(1) }, inLoop +
		"[0].let(x).body.value.body: * of types int32 and float32: cast one"},
	{"operation that does not exist", func(w *wellFormed) { w.letExpr.Body.(*Binary).Op = 99 }, inLoop +
		"[0].let(x).body.value.body: operation 99 does not exist"},
	{"operation on texts", func(w *wellFormed) { w.assert.Cond = &Binary{Op: OpEQ, A: Text("a"), B: Text("a")} }, inLoop +
		`[1].cond.a: text "a" can only be an argument of a call`},
	{"logic of numbers", func(w *wellFormed) { w.assert.Cond = &Binary{Op: OpAnd, A: w.n, B: w.n} }, inLoop +
		"[1].cond: && of type int32: want bool, as comparisons give it"},
	{"sum of truth values", func(w *wellFormed) { w.while.Cond = &Binary{Op: OpAdd, A: w.not, B: w.not} }, inLoop +
		"[3].while.cond: + of type bool"},
	{"operand that is nil", func(w *wellFormed) { w.letExpr.Body.(*Binary).B = (*Cast)(nil) }, inLoop +
		"[0].let(x).body.value.body.b: the expression is nil"},
	{"expression in itself", func(w *wellFormed) { w.letExpr.Body.(*Binary).B = w.letExpr }, inLoop +
		"[0].let(x).body.value.body.b: Let contains itself"},
	{"opposite of a number", func(w *wellFormed) { w.not.A = w.n }, inLoop +
		"[3].while.cond: not of type int32: want bool"},
	{"choice by a number", func(w *wellFormed) { w.selected.Cond = w.ramp }, inLoop +
		"[5].value: select by type int32x4: want bool"},
	{"choice by too few", func(w *wellFormed) { w.selected.Cond = BoolConst(true) }, inLoop +
		"[5].value: select: 1 truth values for 4 lanes"},
	{"choice of two types", func(w *wellFormed) { w.selected.Then = w.ramp }, inLoop +
		"[5].value: select of types int32x4 and float32x4: cast one"},
	{"cast of lanes", func(w *wellFormed) { w.cast.Type = Vector(Float32, 4) }, inLoop +
		"[4].attr(pragma).body.value.b.args[0]: cast of int32 to float32x4: the lanes differ"},
	{"cast to nothing", func(w *wellFormed) { w.cast.Type = Void }, inLoop +
		"[4].attr(pragma).body.value.b.args[0]: cast of int32 to void"},
	{"cast to an address", func(w *wellFormed) { w.cast.Type = Handle }, inLoop +
		"[4].attr(pragma).body.value.b.args[0]: cast of int32 to handle: " +
		"only 64-bit integers can be cast to or from an address"},
	{"ramp of two types", func(w *wellFormed) { w.ramp.Stride = I64(1) }, inLoop +
		"[5].indices[1]: ramp of types int32 and int64: want two scalar integers of one type"},
	{"ramp of floats", func(w *wellFormed) { w.ramp.Base, w.ramp.Stride = F32(1), F32(1) }, inLoop +
		"[5].indices[1]: ramp of types float32 and float32: want two scalar integers of one type"},
	{"ramp of a lane", func(w *wellFormed) { w.ramp.Lanes = 1 }, inLoop + "[5].indices[1]: 1 lanes: want 2 to 1024"},
	{"ramp of 65540 lanes", func(w *wellFormed) { w.ramp.Lanes = 65540 }, inLoop +
		"[5].indices[1]: 65540 lanes: want 2 to 1024"},
	{"broadcast of a vector", func(w *wellFormed) { w.broadcast.Value = &Broadcast{F32(1), 4} }, inLoop +
		"[5].value.then: broadcast of type float32x4: want a scalar"},
	{"broadcast of no lanes", func(w *wellFormed) { w.broadcast.Lanes = -4 }, inLoop +
		"[5].value.then: -4 lanes: want 2 to 1024"},
	{"vector of addresses", func(w *wellFormed) { w.broadcast.Value = w.a }, inLoop +
		"[5].value.then: expressions cannot have type handlex4"},
	{"shuffle of nothing", func(w *wellFormed) { w.shuffle.Vectors = nil }, inLoop +
		"[5].value.else: shuffle of 0 vectors by 4 indices"},
	{"shuffle of two types", func(w *wellFormed) { w.shuffle.Vectors[1] = I32(1) }, inLoop +
		"[5].value.else: shuffle of types float32x4 and int32: cast one"},
	{"shuffle beyond", func(w *wellFormed) { w.shuffle.Indices[0] = 5 }, inLoop +
		"[5].value.else: shuffle: index 0 is 5: there are 5 lanes"},
	{"shuffle of too many lanes", func(w *wellFormed) { w.shuffle.Indices = make([]int, 2000) }, inLoop +
		"[5].value.else: shuffle has 2000 lanes: want 1 to 1024"},
	{"constant beyond its type", func(w *wellFormed) { w.value.Value = 1 << 31 }, inLoop +
		"[2].if.cond.b: constant 2147483648 is not within int32"},
	{"constant of another type", func(w *wellFormed) { w.value.Type = Float32 }, inLoop +
		"[2].if.cond.b: constant 3: type float32 has no constants of integers"},
	{"constant of lanes", func(w *wellFormed) { w.value.Type = Vector(Int32, 4) }, inLoop +
		"[2].if.cond.b: constant 3: type int32x4 has no constants of integers"},
	{"float beyond its type", func(w *wellFormed) { w.letExpr.Value = &FloatImm{Float32, 1e300} }, inLoop +
		"[0].let(x).body.value.value: constant 1e+300 is not within float32"},
	{"float of another type", func(w *wellFormed) { w.letExpr.Value = &FloatImm{Int32, 1} }, inLoop +
		"[0].let(x).body.value.value: constant 1: type int32 has no constants of floats"},

	{"call's kind", func(w *wellFormed) { w.call.Kind = 9 }, inLoop +
		"[4].attr(pragma).body.value.a: call of twice: kind 9 does not exist"},
	{"call without name", func(w *wellFormed) { w.exp.Name = "" }, inLoop +
		"[4].attr(pragma).body.value.b: a call has no name"},
	{"call of a strange type", func(w *wellFormed) { w.exp.Type.Lanes = 2000 }, inLoop +
		"[4].attr(pragma).body.value.b: type float32x2000 has 2000 lanes: want 1 to 1024"},
	{"unknown intrinsic", func(w *wellFormed) { w.exp.Name = "expp" }, inLoop +
		`[4].attr(pragma).body.value.b: there is no intrinsic "expp": want one of`},
	{"intrinsic's arguments", func(w *wellFormed) { w.exp.Args = nil }, inLoop +
		"[4].attr(pragma).body.value.b: intrinsic exp takes 1 arguments, found 0"},
	{"intrinsic's nil argument", func(w *wellFormed) { w.exp.Args[0] = nil }, inLoop +
		"[4].attr(pragma).body.value.b.args[0]: the expression is nil"},
	{"intrinsic's type", func(w *wellFormed) { w.exp.Args[0] = w.n }, inLoop +
		"[4].attr(pragma).body.value.b: intrinsic exp of type float32: argument 0 is of type int32"},
	{"intrinsic of text", func(w *wellFormed) { w.exp.Args[0] = Text("x") }, inLoop +
		`[4].attr(pragma).body.value.b.args[0]: text "x" can only be an argument of a call`},
	{"address of no element", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "address_of", Handle, []Expr{w.n}}
	}, inLoop + "[6].value: intrinsic address_of takes an element of a buffer, found Var"},
	{"report of no record", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "report_index", Bool, []Expr{w.a, I32(1), I64(0)}}
	}, inLoop + "[6].value: intrinsic report_index takes an address, an int32, and two int64, and gives a bool: found"},
	{"reports of no record", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "check_reports", Void, []Expr{w.n}}
	}, inLoop + "[6].value: intrinsic check_reports takes an address and returns nothing"},
	{"shuffle of a vector", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "warp_shuffle", Vector(Int32, 2), []Expr{&Broadcast{I32(1), 2}, I32(1)}}
	}, inLoop +
		"[6].value: intrinsic warp_shuffle takes a value of its own type int32x2 and an int32, and moves one lane"},
	{"shuffle by a float", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "warp_shuffle_xor", Int32, []Expr{I32(1), F32(1)}}
	}, inLoop + "[6].value: intrinsic warp_shuffle_xor takes a value of its own type int32 and an int32"},
	{"copy of an odd number of bytes", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "async_copy", Void, []Expr{w.a, w.a, I32(5)}}
	}, inLoop + "[6].value: intrinsic async_copy takes two addresses and 4, 8 or 16 bytes as a constant"},
	{"group with a value", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "async_commit", Int32, nil}
	}, inLoop + "[6].value: intrinsic async_commit of type int32: want void"},
	{"wait for fewer than no groups", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "async_wait", Void, []Expr{I32(-1)}}
	}, inLoop + "[6].value: intrinsic async_wait takes a constant number of groups"},
	{"value of a call that gives none", func(w *wellFormed) { w.letExpr.Value = NewCall(CallExtern, Void, "f") }, inLoop +
		"[0].let(x).body.value.value: Call has no value"},
	{"called function's arguments", func(w *wellFormed) { w.call.Args = nil }, inLoop +
		"[4].attr(pragma).body.value.a: function twice takes 1 arguments, found 0"},
	{"called function's argument", func(w *wellFormed) { w.call.Args[0] = w.n }, inLoop +
		"[4].attr(pragma).body.value.a: function twice: argument 0 is of type int32: want float32"},
	{"called function's result", func(w *wellFormed) { w.call.Type = Int32 }, inLoop +
		"[4].attr(pragma).body.value.a: call of function twice of type int32: its result is of type float32"},
	{"circle of calls", func(w *wellFormed) {
		c := &Evaluate{NewCall(CallFunc, Void, "main", w.a, I32(1))}
		w.after(&Evaluate{NewCall(CallFunc, Void, "third", w.a)})
		a := NewVar("a", Handle)
		c.Value.(*Call).Args[0] = a
		w.module.Funcs = append(w.module.Funcs, &PrimFunc{Name: "third", Params: []*Var{a}, Result: Void, Body: c})
	}, inLoop + "[7].value: functions call each other recursively: main calls third calls main"},
	{"function that calls itself", func(w *wellFormed) { w.ret.Args[0] = NewCall(CallFunc, Float32, "twice", F32(1)) },
		"twice.body.value.args[0]: functions call each other recursively: twice calls twice"},
	{"reduction", func(w *wellFormed) { w.store.Value = &Reduce{Sources: []Expr{F32(0)}} }, inLoop +
		"[0].let(x).body.value: a reduction that lowering replaces: lower the program first"},
	{"tensor", func(w *wellFormed) { w.store.Value = &ProducerLoad{} }, inLoop +
		"[0].let(x).body.value: a load from a tensor that lowering replaces: lower the program first"},
	{"what could not be made", func(w *wellFormed) { w.store.Value = Add(F32(1), w.a) }, inLoop +
		"[0].let(x).body.value: tir: +: operands of types float32 and handle: cast one"},
	{"what could not be made for no reason", func(w *wellFormed) { w.store.Value = &Bad{} }, inLoop +
		"[0].let(x).body.value: an expression that could not be made, for an unknown reason"},
	{"foreign expression", func(w *wellFormed) { w.store.Value = struct{ Expr }{} }, inLoop +
		"[0].let(x).body.value: struct { tir.Expr } is no expression"},
	{"allocation of nothing", func(w *wellFormed) { w.alloc.Buffer = nil },
		"main.body.for(i).body.alloc(nil).buffer: the buffer is nil"},
	{"attribute of a nil variable", func(w *wellFormed) { w.attr.Node = (*Var)(nil) }, inLoop +
		"[4].attr(pragma).node: the variable is nil"},
	{"address of two", func(w *wellFormed) {
		w.evaluate.Value = &Call{CallIntrinsic, "address_of", Handle, []Expr{w.letExpr.Value, w.n}}
	}, inLoop + "[6].value: intrinsic address_of of type handle takes an element of a buffer: want type handle and 1 " +
		"argument, found 2"},
	{"foreign statement", func(w *wellFormed) { w.let.Body = struct{ Stmt }{} }, inLoop +
		"[0].let(x).body: struct { tir.Stmt } is no statement"},
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check(newWellFormed().module))
	require.NoError(t, CheckFunc(newWellFormed().main))
	w := newWellFormed()
	widest := NewBuffer("B", Vector(Float32, MaxLanes/4), I32(4))
	w.after(&Alloc{widest, &Evaluate{&BufferLoad{Buffer: widest, Indices: []Expr{w.ramp}}}})
	require.NoError(t, Check(w.module), "as many lanes in all as there may be")
	require.EqualError(t, CheckFunc(nil), "tir: check: the function is nil")
	for _, c := range spoiledPrograms {
		t.Run(c.name, func(t *testing.T) {
			w := newWellFormed()
			c.spoil(w)
			err := Check(w.module)
			require.Error(t, err)
			want := c.want
			if len(want) < 4 || want[:4] != "tir:" {
				want = "tir: check " + want
			}
			got := err.Error()
			require.Equal(t, want, got[:min(len(want), len(got))], got)
			var e *Error
			require.ErrorAs(t, err, &e)
			all := CheckAll(w.module)
			require.Equal(t, e, all[0], "the first of all")
			require.LessOrEqual(t, len(all), MaxErrors)
			Walk(w.main.Name, nil)
			compare.Equal(w.module, newWellFormed().module)
			compare.Hash(w.module)
		})
	}
}

func TestCheck_ErrorOfBad(t *testing.T) {
	cause := errors.New("the cause")
	err := CheckFunc(&PrimFunc{Name: "f", Result: Void, Body: &Evaluate{Add(&Bad{cause}, I32(1))}})
	require.ErrorIs(t, err, cause)
	require.Equal(t, &Error{"f", "body.value", "the cause", cause}, err)
}

func TestCheckAll_InOrder(t *testing.T) {
	w := newWellFormed()
	w.not.A, w.cast.Type, w.loop.Thread = w.n, Void, "x"
	var paths []string
	for _, e := range CheckAll(w.module) {
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{"body.for(i)", "body.for(i).body.alloc(T).body[3].while.cond",
		"body.for(i).body.alloc(T).body[4].attr(pragma).body.value.b.args[0]"}, paths)
}

// What stands behind a condition, or in a loop without iterations, may be wrong, since it may never run.
func TestCheck_IndexBehindCondition(t *testing.T) {
	b := NewBuffer("B", Float32, I32(4))
	p := NewVar("b", Handle)
	load := BufferAt(b, I32(7))
	check := func(s Stmt) error {
		return CheckFunc(&PrimFunc{Name: "f", Params: []*Var{p}, Buffers: map[*Var]*Buffer{p: b}, Result: Void, Body: s})
	}
	zero := LT(load, F32(0))
	guarded := []Stmt{
		&If{BoolConst(false), &Evaluate{load}, nil},
		&While{BoolConst(false), &Evaluate{load}},
		&Evaluate{Intrin("if_then_else", BoolConst(false), load, F32(0))},
		&Evaluate{And(BoolConst(false), zero)},
		&For{Var: NewVar("i", Int32), Min: I32(0), Extent: I32(0), Body: &Evaluate{load}},
	}
	for _, s := range guarded {
		require.NoError(t, check(s))
		require.ErrorContains(t, check(Sequence(s, &Evaluate{load})), "body[1].value.indices[0]: index 7 is outside",
			"the same node")
	}
	v := NewVar("v", Int32)
	let := &Let{Var: v, Value: I32(3), Body: BufferAt(b, v)}
	require.NoError(t, check(Sequence(&If{BoolConst(false), &Evaluate{let}, nil}, &Evaluate{let})),
		"looked at again, v is defined once")
	for _, s := range []Stmt{&Evaluate{And(zero, zero)}, &Evaluate{NewSelect(BoolConst(false), load, F32(0))}, &If{zero,
		&Seq{}, nil},
		&For{Var: NewVar("i", Int32), Min: I32(0), Extent: I32(1), Body: &Evaluate{load}}} {
		require.ErrorContains(t, check(s), "index 7 is outside")
	}
}

func TestCheck_Accepts(t *testing.T) {
	p, n := NewVar("p", Handle), NewVar("n", Int32)
	own := &Buffer{Name: "B", Data: p, DType: Float32, Shape: []Expr{n}, Strides: []Expr{n}, Offset: NewVar("first",
		Int64), Alignment: 64}
	i := NewVar("i", Int32)
	loop := &For{Kind: ThreadBind, Thread: "blockIdx.x", Var: i, Min: I32(0), Extent: n, Body: &BufferStore{own,
		F32(float32(math.Inf(1))), []Expr{i}}}
	require.NoError(t, CheckFunc(&PrimFunc{Name: "f", Params: []*Var{p}, Buffers: map[*Var]*Buffer{p: own}, Result: Void,
		Body: Sequence(
			loop,
			loop, // a shared node is defined once
			&AttrStmt{"text", nil, Text("x"), &Seq{}},
			&Evaluate{&IntImm{UInt64, -1}},
			&Evaluate{NewCall(CallFunc, Int32, "elsewhere")},
		)}))
}

func TestCheck_DeepAndShared(t *testing.T) {
	one := func(e Expr) error { return CheckFunc(&PrimFunc{Name: "f", Result: Void, Body: &Evaluate{e}}) }
	require.NoError(t, one(tirnodes.Nested(I32(0), 100_000, true)))
	require.NoError(t, one(tirnodes.Nested(I32(0), 100_000, false)))
	require.ErrorContains(t, one(tirnodes.Nested(I32(0), scopes.MaxDepth+1, false)), "nested more than 200000 deep")
	require.NoError(t, one(tirnodes.LetsShared(1)))
	e := Expr(I32(1))
	for range 200 {
		e = &Binary{Op: OpAdd, A: e, B: e}
	}
	require.NoError(t, one(e))
	s := Stmt(&Evaluate{I32(0)})
	for range 100 {
		s = &If{BoolConst(true), s, s}
	}
	require.NoError(t, CheckFunc(&PrimFunc{Name: "f", Result: Void, Body: s}))
	s = &Evaluate{NewVar("x", Int32)}
	for range 100 {
		s = &If{BoolConst(true), s, s}
	}
	require.Len(t, CheckAll(&IRModule{Funcs: []*PrimFunc{{Name: "f", Result: Void, Body: s}}}), 1, "each node once")
	s = &Evaluate{I32(0)}
	for range scopes.MaxDepth {
		s = &While{BoolConst(true), s}
	}
	require.ErrorContains(t, CheckFunc(&PrimFunc{Name: "f", Result: Void, Body: s}), "nested more than 200000 deep")
	e = &Not{A: I32(1)}
	for range 100 {
		e = &Binary{Op: OpAdd, A: e, B: e}
	}
	require.Len(t, CheckAll(&IRModule{Funcs: []*PrimFunc{{Name: "f", Result: Void, Body: &Evaluate{e}}}}), 1,
		"each node once")
}
