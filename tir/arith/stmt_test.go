package arith

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/tir"
)

// program formats statements, one per line, as in the table below.
func program(s tir.Stmt, indent string) string {
	switch s := s.(type) {
	case *tir.BufferStore:
		return fmt.Sprintf("%s%s = %s\n", indent, textOf(&tir.BufferLoad{Buffer: s.Buffer, Indices: s.Indices}),
			textOf(s.Value))
	case *tir.For:
		return fmt.Sprintf("%s%s %s from %s, %s\n", indent, s.Kind, s.Var.Name, textOf(s.Min), textOf(s.Extent)) +
			program(s.Body, indent+" ")
	case *tir.While:
		return fmt.Sprintf("%swhile %s\n", indent, textOf(s.Cond)) + program(s.Body, indent+" ")
	case *tir.If:
		r := fmt.Sprintf("%sif %s\n", indent, textOf(s.Cond)) + program(s.Then, indent+" ")
		if s.Else != nil {
			r += indent + "else\n" + program(s.Else, indent+" ")
		}
		return r
	case *tir.LetStmt:
		return fmt.Sprintf("%slet %s = %s\n", indent, s.Var.Name, textOf(s.Value)) + program(s.Body, indent+" ")
	case *tir.Assert:
		return fmt.Sprintf("%sassert %s\n", indent, textOf(s.Cond))
	case *tir.Alloc:
		return fmt.Sprintf("%salloc %s\n", indent, s.Buffer.Name) + program(s.Body, indent+" ")
	case *tir.AttrStmt:
		return fmt.Sprintf("%sattr %s = %s\n", indent, s.Key, textOf(s.Value)) + program(s.Body, indent+" ")
	case *tir.Evaluate:
		return fmt.Sprintf("%s%s\n", indent, textOf(s.Value))
	case *tir.Seq:
		r := ""
		for _, x := range s.Stmts {
			r += program(x, indent)
		}
		return r
	}
	return fmt.Sprintf("%s%T\n", indent, s)
}

// statements parses the format of program; expressions are as in the table of simplifications.
func (r *reader) statements(lines []string) tir.Stmt {
	var all []tir.Stmt
	depth := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	for len(lines) > 0 {
		line := strings.TrimSpace(lines[0])
		n := 1
		for n < len(lines) && depth(lines[n]) > depth(lines[0]) {
			n++
		}
		inner := lines[1:n]
		lines = lines[n:]
		word, rest, _ := strings.Cut(line, " ")
		cut := func(sep string) (string, string) {
			x, y, ok := strings.Cut(rest, sep)
			require.True(r.t, ok, line)
			return x, y
		}
		kinds := map[string]tir.ForKind{"for": tir.Serial, "parallel": tir.Parallel, "vectorized": tir.Vectorized,
			"unrolled": tir.Unrolled, "thread": tir.ThreadBind}
		kind, isLoop := kinds[word]
		switch {
		case isLoop:
			name, bounds := cut(" from ")
			low, count, _ := strings.Cut(bounds, ", ")
			all = append(all, &tir.For{Kind: kind, Var: r.variable(name), Min: r.read(low), Extent: r.read(count),
				Body: r.statements(inner)})
		case word == "while":
			all = append(all, &tir.While{Cond: r.read(rest), Body: r.statements(inner)})
		case word == "if":
			s := &tir.If{Cond: r.read(rest), Then: r.statements(inner)}
			if len(lines) > 0 && strings.TrimSpace(lines[0]) == "else" {
				n := 1
				for n < len(lines) && depth(lines[n]) > depth(lines[0]) {
					n++
				}
				s.Else = r.statements(lines[1:n])
				lines = lines[n:]
			}
			all = append(all, s)
		case word == "let":
			name, value := cut(" = ")
			all = append(all, &tir.LetStmt{Var: r.variable(name), Value: r.read(value), Body: r.statements(inner)})
		case word == "assert":
			all = append(all, &tir.Assert{Cond: r.read(rest), Kind: "ValueError", Message: "no"})
		case word == "alloc":
			r.read(rest + "[0]")
			all = append(all, &tir.Alloc{Buffer: r.bufs[rest], Body: r.statements(inner)})
		case word == "attr":
			key, value := cut(" = ")
			all = append(all, &tir.AttrStmt{Key: key, Value: r.read(value), Body: r.statements(inner)})
		case strings.Contains(line, "] = "):
			to, value, _ := strings.Cut(line, " = ")
			load := r.read(to).(*tir.BufferLoad)
			all = append(all, &tir.BufferStore{Buffer: load.Buffer, Value: r.read(value), Indices: load.Indices})
		default:
			all = append(all, &tir.Evaluate{Value: r.read(line)})
		}
	}
	return tir.Sequence(all...)
}

// stmtRows are programs, the expected results, and names. n is not negative.
var stmtRows = []struct{ name, from, to string }{
	{"split of 64 by 8", `
for i from 0, 8
 for j from 0, 8
  if likely(i*8 + j < 64)
   A[i*8 + j] = (i*8 + j)//8`, `
for i from 0, 8
 for j from 0, 8
  A[i*8 + j] = i`},
	{"split that doesn't divide", `
for i from 0, (n + 7)//8
 for j from 0, 8
  if likely(i*8 + j < n)
   if i*8 < n
    A[i*8 + j] = B[(i*8 + j)//8*8 + (i*8 + j)%%8]`, `
for i from 0, (n + 7)//8
 for j from 0, 8
  if likely(i*8 + j < n)
   A[i*8 + j] = B[i*8 + j]`},
	{"tail by min", `
for i from 0, (n + 7)//8
 for j from 0, min(8, n - i*8)
  if i*8 + j < n
   A[i*8 + j] = 0`, `
for i from 0, (n + 7)//8
 for j from 0, min(8, n - i*8)
  A[i*8 + j] = 0`},
	{"fused", `
parallel f0 from 0, n*m
 if m > 0
  A[f0//m*m + f0%%m] = 1`, `
parallel f0 from 0, n*m
 if m >= 1
  A[f0] = 1`},
	{"no iterations", `
for i from 0, 0
 A[i] = 1
A[1] = 2
for i from 0, n - n - 1
 A[i] = 3`, `
A[1] = 2`},
	{"one iteration", `
for i from n, 1
 for j from 0, 1
  A[i + j] = i`, `
A[n] = n`},
	{"one iteration whose start is no value of one variable", `
for i from n + 3, 1
 A[i*2] = i`, `
A[n*2 + 6] = n + 3`},
	{"one iteration from memory", `
for i from B[0], 1
 B[0] = 1
 A[i] = i`, `
let i = B[0]
 B[0] = 1
 A[i] = i`},
	{"one thread stays", `
thread t from 0, 1
 A[t + n] = t`, `
thread t from 0, 1
 A[n] = 0`},
	{"ifs", `
if 1 < 2
 A[0] = 1
else
 A[0] = 2
if false
 A[1] = 1
if n >= 0
 A[2] = 1
if p
 if p
  A[3] = 1
 else
  A[3] = 2
else
 if p
  A[4] = 1
 else
  A[4] = 2`, `
A[0] = 1
A[2] = 1
if p
 A[3] = 1
else
 A[4] = 2`},
	{"empty ifs", `
if p
 1 + 2
if p
 3
else
 A[0] = 1
if A[0] < extern(1)
 2`, `
if !p
 A[0] = 1
(A[0] < extern(1))`},
	{"nothing in a loop", `
for i from 0, n
 i
while p
 A[0] = 1
while 1 > 2
 A[0] = 1
A[0] = 2`, `
while p
 A[0] = 1
A[0] = 2`},
	{"assertions", `
assert n*2 >= n
assert n < 8
if n < 9
 A[0] = 1
if n < 5
 A[0] = 2`, `
assert n < 8
A[0] = 1
if n < 5
 A[0] = 2`},
	{"behind an assertion that fails", `
assert n < n
A[0] = 1
A[1] = 2`, `
assert false`},
	{"an assertion that reads memory is not kept", `
assert B[0] < 5
B[0] = 9
if B[0] < 5
 A[0] = 1`, `
assert B[0] < 5
B[0] = 9
if B[0] < 5
 A[0] = 1`},
	{"a let that reads memory is not a fact", `
let t = B[0]
 B[0] = t + 1
 if t < B[0]
  A[0] = 1`, `
let t = B[0]
 B[0] = t + 1
 if t < B[0]
  A[0] = 1`},
	{"lets", `
let t = 3
 let s = t
  A[t + s] = t
let t = n*8
 if t//8 <= n
  A[t] = 1
let t = extern(1)
 A[0] = 1
let t = n + m
 A[1] = 2`, `
A[6] = 3
let t = n*8
 A[t] = 1
let t = extern(1)
 A[0] = 1
A[1] = 2`},
	{"scopes", `
alloc C
 C[0 + n] = 1*n
alloc C
 5
attr key = n + 0
 A[n - n] = 2
attr key = n
 5`, `
alloc C
 C[n] = n
attr key = n
 A[0] = 2`},
	{"calls stay", `
extern(n + 0)
for i from 0, extern(0)
 5`, `
extern(n)
for i from 0, extern(0)`},
	{"vector loop", `
for i from 0, 4
 A[ramp(i*4, 1, 4)//broadcast(4, 4)*broadcast(4, 4) + ramp(i*4, 1, 4)%%broadcast(4, 4)] = ` +
		`broadcast(i*2, 4) + broadcast(0, 4)`, `
for i from 0, 4
 A[ramp(i*4, 1, 4)] = broadcast(i*2, 4)`},
	{"a variable twice", `
for i from 0, 4
 if i < 4
  A[i] = 1
for i from 0, 8
 if i < 4
  for i from 4, 4
   if i < 4
    A[i] = 2
   if i >= 4
    A[i] = 3`, `
for i from 0, 4
 A[i] = 1
for i from 0, 8
 if i < 4
  for i from 4, 4
   A[i] = 3`},
}

func TestSimplifyStmt_Table(t *testing.T) {
	for _, row := range stmtRows {
		t.Run(row.name, func(t *testing.T) {
			r := newReader(t)
			body := r.statements(strings.Split(strings.TrimSpace(row.from), "\n"))
			f := &tir.PrimFunc{Name: "f", Params: []*tir.Var{tir.NewVar("a", tir.Handle)}, Body: body,
				Buffers: map[*tir.Var]*tir.Buffer{}}
			f.Buffers[f.Params[0]] = tir.NewBuffer("a", tir.Int32, r.variable("n"))
			got := simplifyFunc(f, func(r rule) { counts[r]++ })
			want := program(r.statements(strings.Split(strings.TrimSpace(row.to), "\n")), "")
			require.Equal(t, want, program(got.Body, ""))
			require.Same(t, got, SimplifyFunc(got), "simplifying again changes nothing")
			require.Equal(t, "f", got.Name)
		})
	}
}

// machine executes statements, and records their writes and calls.
type machine struct {
	evaluation
	cells map[string]int64
	trace []string
	steps int
}

func (m *machine) number(e tir.Expr) int64 { return m.eval(e)[0].Int64() }

func (m *machine) exec(s tir.Stmt) {
	if m.steps++; m.steps > 2000 {
		panic(undefined{"too long"})
	}
	with := func(v *tir.Var, x int64, body tir.Stmt) {
		old, had := m.values[v]
		m.values[v] = x
		m.exec(body)
		if delete(m.values, v); had {
			m.values[v] = old
		}
	}
	switch s := s.(type) {
	case nil:
	case *tir.BufferStore:
		at := fmt.Sprint(s.Buffer.Name, m.number(s.Indices[0]))
		m.cells[at] = m.number(s.Value)
		m.trace = append(m.trace, fmt.Sprint(at, "=", m.cells[at]))
	case *tir.For:
		low, n := m.number(s.Min), m.number(s.Extent)
		for i := range max(n, 0) {
			with(s.Var, low+i, s.Body)
		}
	case *tir.If:
		if m.number(s.Cond) == 1 {
			m.exec(s.Then)
		} else {
			m.exec(s.Else)
		}
	case *tir.LetStmt:
		with(s.Var, m.number(s.Value), s.Body)
	case *tir.Assert:
		if m.number(s.Cond) == 0 {
			m.trace = append(m.trace, "assertion")
			panic(undefined{"assertion"})
		}
	case *tir.Seq:
		for _, x := range s.Stmts {
			m.exec(x)
		}
	case *tir.Evaluate:
		m.number(s.Value)
	default:
		panic(fmt.Sprintf("cannot run %T", s))
	}
}

// runProgram returns what a program writes; why is not empty if it fails.
func runProgram(s tir.Stmt, values map[*tir.Var]int64, strict bool) (trace []string, why string) {
	m := &machine{evaluation: evaluation{values: map[*tir.Var]int64{}, strict: strict}, cells: map[string]int64{}}
	maps.Copy(m.values, values)
	m.memory = func(b *tir.Buffer, at []int64) int64 { return m.cells[fmt.Sprint(b.Name, at[0])] }
	defer func() {
		trace = m.trace
		if p := recover(); p != nil {
			u, ok := p.(undefined)
			if !ok {
				panic(p)
			}
			why = u.what
		}
	}()
	m.exec(s)
	return
}

// randomStmt returns a program over the variables of w and of its loops.
func randomStmt(w world, b *tir.Buffer, depth int) tir.Stmt {
	load := func() tir.Expr { return tir.BufferAt(b, tir.FloorMod(w.expr(tir.Int32, 1), tir.I32(8))) }
	store := func() tir.Stmt {
		value := w.expr(tir.Int32, 2)
		if w.r.IntN(2) == 0 {
			value = tir.Add(tir.FloorMod(load(), tir.I32(100)), value)
		}
		return &tir.BufferStore{Buffer: b, Value: value, Indices: []tir.Expr{w.expr(tir.Int32, 2)}}
	}
	if depth == 0 {
		return store()
	}
	cond := func() tir.Expr {
		if w.r.IntN(4) == 0 {
			return tir.LT(load(), w.expr(tir.Int32, 1))
		}
		return w.cond(2)
	}
	inner := w
	v := tir.NewVar("t", tir.Int32)
	if w.r.IntN(4) == 0 { // a variable that is already bound
		v = w.vars[0]
	} else {
		inner.vars = append(append([]*tir.Var{}, w.vars...), v)
	}
	switch w.r.IntN(7) {
	case 0, 1:
		extent := tir.Expr(tir.IntConst(tir.Int32, w.r.Int64N(4)))
		switch w.r.IntN(6) {
		case 0:
			extent = tir.Min(w.expr(tir.Int32, 1), tir.I32(3))
		case 1:
			extent = tir.Min(load(), tir.I32(3))
		}
		return &tir.For{Var: v, Min: w.expr(tir.Int32, 1), Extent: extent, Body: randomStmt(inner, b, depth-1)}
	case 2, 3:
		s := &tir.If{Cond: cond(), Then: randomStmt(w, b, depth-1)}
		if w.r.IntN(2) == 0 {
			s.Else = randomStmt(w, b, depth-1)
		}
		return s
	case 4:
		value := w.expr(tir.Int32, 2)
		if w.r.IntN(3) == 0 {
			value = load()
		}
		return &tir.LetStmt{Var: v, Value: value, Body: randomStmt(inner, b, depth-1)}
	case 5:
		return tir.Sequence(&tir.Assert{Cond: cond(), Kind: "ValueError"}, randomStmt(w, b, depth-1))
	}
	return tir.Sequence(randomStmt(w, b, depth-1), &tir.Evaluate{Value: w.expr(tir.Int32, 1)}, randomStmt(w, b, depth-1))
}

func TestSimplifyStmt_RandomPrograms(t *testing.T) {
	compared := 0
	for seed := range uint64(3000) {
		w := newWorld(seed)
		b := tir.NewBuffer("A", tir.Int32, tir.I32(64))
		s := randomStmt(*w, b, 4)
		got := w.analyzer().SimplifyStmt(s)
		for range 6 {
			values := w.assign()
			want, why := runProgram(s, values, true)
			if why != "" && why != "assertion" {
				continue
			}
			compared++
			have, other := runProgram(got, values, false)
			require.Equal(t, why, other, "%s\nbecame\n%s\nwith%s", program(s, ""), program(got, ""), describe(values))
			require.Equal(t, want, have, "%s\nbecame\n%s\nwith%s", program(s, ""), program(got, ""), describe(values))
		}
	}
	require.Greater(t, compared, 6000)
}

func TestSimplify_Module(t *testing.T) {
	require.EqualError(t, must.Fail(Simplify(nil, nil)), "simplify: the module is nil")
	_, err := Simplify(&tir.IRModule{Funcs: []*tir.PrimFunc{nil}}, nil)
	require.EqualError(t, err, "simplify: function 0 of the module is nil or has no body: check it with tir.Check")

	b := tir.NewBuffer("A", tir.Int32, tir.I32(4))
	i := tir.NewVar("i", tir.Int32)
	store := func(at tir.Expr) tir.Stmt {
		return &tir.For{Var: i, Min: tir.I32(0), Extent: tir.I32(4), Body: &tir.BufferStore{Buffer: b, Value: tir.I32(1),
			Indices: []tir.Expr{at}}}
	}
	f, g := &tir.PrimFunc{Name: "f", Body: store(tir.Add(i, tir.I32(0)))}, &tir.PrimFunc{Name: "g", Body: store(i)}
	none, empty := &tir.PrimFunc{Name: "none", Body: &tir.Evaluate{Value: i}}, &tir.PrimFunc{Name: "empty"}
	_, err = Simplify(&tir.IRModule{Funcs: []*tir.PrimFunc{f, empty}}, nil)
	require.EqualError(t, err, "simplify: function 1 of the module is nil or has no body: check it with tir.Check")
	m := must.Get(tir.NewModule(f, g, none))(t)
	m.Attrs["a"] = int64(1)
	r := must.Get(Simplify(m, nil))(t)
	require.Equal(t, program(g.Body, ""), program(r.Func("f").Body, ""))
	require.NotSame(t, f, r.Func("f"))
	require.Same(t, g, r.Func("g"), "nothing to do")
	require.Equal(t, &tir.Seq{}, r.Func("none").Body)
	require.Equal(t, m.Attrs, r.Attrs)
	require.Equal(t, "(i + 0)", textOf(f.Body.(*tir.For).Body.(*tir.BufferStore).Indices[0]), "the old module stays")
}

// A variable in the shape of an allocation must stay bound.
func TestSimplifyStmt_VariablesOfShapes(t *testing.T) {
	v := tir.NewVar("v", tir.Int32)
	c := tir.NewBuffer("C", tir.Int32, tir.Add(v, tir.I32(1)))
	body := &tir.Alloc{Buffer: c, Body: &tir.BufferStore{Buffer: c, Value: v, Indices: []tir.Expr{v}}}
	for _, s := range []tir.Stmt{&tir.LetStmt{Var: v, Value: tir.I32(3), Body: body},
		&tir.For{Var: v, Min: tir.I32(3), Extent: tir.I32(1), Body: body}} {
		require.Equal(t, "let v = 3\n alloc C\n  C[3] = 3\n", program(newCounted().SimplifyStmt(s), ""))
	}
	attr := &tir.AttrStmt{Key: "of", Node: v, Value: tir.I32(1),
		Body: &tir.Evaluate{Value: tir.NewCall(tir.CallExtern, tir.Int32, "f", v)}}
	require.Equal(t, "let v = 3\n attr of = 1\n  f(3)\n",
		program(newCounted().SimplifyStmt(&tir.LetStmt{Var: v, Value: tir.I32(3), Body: attr}), ""))
}

func TestSimplifyStmt_Malformed(t *testing.T) {
	x := tir.NewVar("x", tir.Int32)
	for _, s := range []tir.Stmt{nil, (*tir.For)(nil), (*tir.If)(nil), (*tir.Seq)(nil), (*tir.LetStmt)(nil),
		(*tir.Alloc)(nil), (*tir.AttrStmt)(nil), (*tir.While)(nil),
		(*tir.Assert)(nil), (*tir.Evaluate)(nil), (*tir.BufferStore)(nil), &tir.For{}, &tir.If{}, &tir.LetStmt{},
		&tir.LetStmt{Var: x}, &tir.Alloc{}, &tir.AttrStmt{}, &tir.While{},
		&tir.Assert{}, &tir.Evaluate{}, &tir.BufferStore{}, &tir.Seq{Stmts: []tir.Stmt{nil, &tir.If{Cond: x}}}, &tir.For{
			Var: x, Body: &tir.BufferStore{Indices: []tir.Expr{nil}}}} {
		require.NotPanics(t, func() { newCounted().SimplifyStmt(s) }, "%T", s)
	}
	var deep tir.Stmt = &tir.BufferStore{Buffer: tir.NewBuffer("A", tir.Int32, tir.I32(1)), Value: x,
		Indices: []tir.Expr{x}}
	for range 10000 {
		deep = &tir.If{Cond: tir.LT(x, tir.I32(3)), Then: deep}
	}
	newCounted().SimplifyStmt(deep)
}

// An assertion holds only after it, not in the simplified program before it.
func TestSimplifyStmt_ForgetsAfterwards(t *testing.T) {
	r := newReader(t)
	a := newCounted()
	a.SimplifyStmt(r.statements([]string{"assert n < 3", "assert n + m < 9", "A[0] = n", "for i from 0, n", " A[i] = 1"}))
	require.Empty(t, a.known)
	require.Empty(t, a.facts)
	require.Empty(t, a.undo)
}

// The random programs differ from each other.
func TestRandomStmt_Varies(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		w := newWorld(seed)
		w.r = rand.New(rand.NewPCG(seed, 9))
		seen[program(randomStmt(*w, tir.NewBuffer("A", tir.Int32, tir.I32(64)), 4), "")] = true
	}
	require.Greater(t, len(seen), 45)
}
