package partition_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/target"
	"tvmgo/target/partition"
)

// TestPartition_Groups uses three members: the first accepts kind a, the second kind b, and the third everything.
func TestPartition_Groups(t *testing.T) {
	soc := composite(t, onlyKinds(t, "a"), onlyKinds(t, "b"), newTarget(t, "llvm"))
	for _, c := range []struct{ name, graph, want string }{
		{"nothing", "", ""},
		{"one", "x:a(in)", "0:x"},
		{"line", "x:a(in) y:a(x) z:a(y)", "0:x,y,z"},
		{"alternating members", "x:a(in) y:b(x) z:a(y)", "0:x 1:y 0:z"},
		{"independent", "x:a y:a z:b", "0:x,y 1:z"},
		{"any order", "z:a(y) y:b(x) x:a(in)", "0:x 1:y 0:z"},
		{"the way out and back is not swallowed", "x:a y:b(x) z:a(x,y)", "0:x 1:y 0:z"},
		{"a way out alone", "x:a y:b(x) z:a(x)", "0:x,z 1:y"},
		{"a way in alone", "x:a y:b z:a(x,y)", "1:y 0:x,z"},
		{"joins what starts later", "p:b x:a y:a(p)", "1:p 0:x,y"},
		{"two lines side by side", "x:a y:b(x) z:a(y) p:a q:b(p) r:a(q)", "0:p,x 1:q,y 0:r,z"},
		{"two lines that cross", "x:a y:b(x) p:b q:a(p)", "1:p 0:x,q 1:y"},
		{"three members", "x:a y:b(x) z:c(x) u:a(y,z)", "0:x 1:y 2:z 0:u"},
		{"twice the same input", "x:a y:b(x,x)", "0:x 1:y"},
		{"joins the first group that waits anyhow",
			"x:a y:b(x) z:a(y) w:b(z,p) u:a(w) k:b(u) p:c q:c(p) r:c(q) s:c(r) l:c(s) m:c(l) v:b(m)",
			"2:p,q,r,s,l,m 0:x 1:y 0:z 1:w,v 0:u 1:k"},
		{"stays where its inputs are", "x:a y:b(x) z:a(y) x2:a(x) x3:a(x2) x4:a(x3)", "0:x,x2,x3,x4 1:y 0:z"},
		{"joins the last group otherwise", "x:a y:c(x) z:a(y) p:b q:b(p) r:b(q) v:a(r)", "1:p,q,r 0:x 2:y 0:z,v"},
	} {
		p, err := partition.New(graph(t, c.graph), soc)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, groupsOf(p), c.name)
	}
}

func TestPartition_Border(t *testing.T) {
	g := graph(t, "x:a(in,w) y:a(x,w) z:b(x,v,in) u:a(z,y)")
	soc := composite(t, onlyKinds(t, "a"), newTarget(t, "llvm"))
	p := must.Get(partition.New(g, soc))(t)
	require.Equal(t, "0:x,y 1:z 0:u", groupsOf(p))
	require.Equal(t, []string{"in", "w", "v"}, p.Inputs)
	require.Equal(t, []string{"u"}, p.Outputs)
	want := []struct {
		in, out []string
		after   []int
	}{
		{[]string{"in", "w"}, []string{"x", "y"}, []int{}},
		{[]string{"x", "v", "in"}, []string{"z"}, []int{0}},
		{[]string{"z", "y"}, []string{"u"}, []int{0, 1}},
	}
	for i, w := range want {
		require.Equal(t, w.in, p.Groups[i].Inputs)
		require.Equal(t, w.out, p.Groups[i].Outputs)
		require.Equal(t, w.after, p.Groups[i].After)
	}
	require.Same(t, soc, p.Target)
	require.True(t, p.Groups[1].Target.Equal(newTarget(t, "llvm")))
	require.Equal(t, g.Ops[2], p.Groups[1].Ops[0])

	g.Outputs, g.Inputs = []string{"u", "z", "z"}, []string{"v", "in", "w", "unused"}
	p = must.Get(partition.New(g, soc))(t)
	require.Equal(t, []string{"z", "u"}, p.Outputs)
	require.Equal(t, []string{"v", "in", "w", "unused"}, p.Inputs)
	require.Equal(t, []string{"z"}, p.Groups[1].Outputs)

	g = graph(t, "x:a y:a(x)")
	g.Outputs = []string{"x"}
	p = must.Get(partition.New(g, soc))(t)
	require.Equal(t, []string{"x", "y"}, p.Groups[0].Outputs, "what is wanted leaves its group, whoever else uses it")
}

// TestPartition_Single tests a target with a single member.
func TestPartition_Single(t *testing.T) {
	p := must.Get(partition.New(graph(t, "x:a y:b(x) z:c(y) u:d"), newTarget(t, "cuda -arch=sm_90")))(t)
	require.Equal(t, ":u,x,y,z", groupsOf(p))
	require.Empty(t, p.Groups[0].Member)

	_, err := partition.New(graph(t, "x:a y:b(x)"), onlyKinds(t, "a"))
	require.ErrorIs(t, err, target.ErrPartition)
	require.ErrorContains(t, err, `no member accepts operation "y" (b)`)
}

func TestPartition_Reasons(t *testing.T) {
	cautious := taking(t, func(_ *target.Target, op *target.Op) (bool, string) {
		return op.Attrs["dtype"] == "float32", fmt.Sprint("the type is ", op.Attrs["dtype"])
	})
	silent := taking(t, func(_ *target.Target, op *target.Op) (bool, string) { return op.Name == "y", "" })
	g := graph(t, "x:a y:a z:a")
	g.Ops[0].Attrs = map[string]any{"dtype": "float32"}
	p := must.Get(partition.New(g, composite(t, cautious, silent, newTarget(t, "c"))))(t)
	require.Equal(t, "0:x 1:y 2:z", groupsOf(p))
	x, ok := p.Why("x")
	require.True(t, ok)
	require.Equal(t, partition.Decision{Op: "x", Group: 0, Reason: "the type is float32"}, x)
	z, _ := p.Why("z")
	require.Equal(t, `kind "c" accepts every operation`, z.Reason)
	require.Equal(t, []partition.Refusal{
		{Member: []int{0}, Target: cautious, Reason: "the type is <nil>"},
		{Member: []int{1}, Target: silent, Reason: "the partitioner gives no reason"},
	}, z.Refused)
	y, _ := p.Why("y")
	require.Equal(t, "the partitioner gives no reason", y.Reason)
	_, ok = p.Why("nothing")
	require.False(t, ok)
}

// TestPartition_SameMemberTwice checks that equal members are distinguished.
func TestPartition_SameMemberTwice(t *testing.T) {
	even := newKind(t, target.Composite(), target.WithAttr(target.ColumnStrategy, func(g *target.Graph,
		t *target.Target) ([]target.Assignment, error) {
		var answer []target.Assignment
		for i, op := range g.Ops {
			answer = append(answer, target.Assignment{Op: op.Name, Member: i % 2})
		}
		return answer, nil
	}))
	p, err := partition.New(graph(t, "a:k b:k c:k d:k"), newTarget(t, map[string]any{"kind": even, "devices": []any{"llvm",
		"llvm"}}))
	require.NoError(t, err)
	require.Equal(t, "0:a,c 1:b,d", groupsOf(p))
	why, _ := p.Why("a")
	require.Equal(t, fmt.Sprintf(`the strategy of kind %q gives no reason; kind "llvm" accepts every operation`, even),
		why.Reason)
}

// noting returns a composite target whose strategy records its operations and assigns them all to its only member.
func noting(t testing.TB, member *target.Target, seen *[]string) *target.Target {
	kind := newKind(t, target.Composite(), target.WithAttr(target.ColumnStrategy, func(g *target.Graph,
		_ *target.Target) ([]target.Assignment, error) {
		var answer []target.Assignment
		for i := len(g.Ops) - 1; i >= 0; i-- { // an answer may have any order
			answer = append(answer, target.Assignment{Op: g.Ops[i].Name})
			*seen = append(*seen, g.Ops[len(g.Ops)-1-i].Name)
		}
		return answer, nil
	}))
	return newTarget(t, map[string]any{"kind": kind, "devices": []any{member}})
}

// TestPartition_Order checks that a strategy gets each operation after those that it uses, even if some were already
// assigned.
func TestPartition_Order(t *testing.T) {
	var outer, inner []string
	guarded := newKind(t, target.Composite(), target.WithAttr(target.ColumnPartitioner, func(_ *target.Target,
		op *target.Op) (bool, string) {
		return op.Name != "z", "no z"
	}))
	first := newTarget(t, map[string]any{"kind": guarded, "devices": []any{onlyKinds(t, "a")}})
	p := must.Get(partition.New(graph(t, "v:c(z) z:a(y) x:c y:a(x)"),
		composite(t, first, noting(t, noting(t, newTarget(t, "llvm"), &inner), &outer))))(t)
	require.Equal(t, "1.0.0:x 0.0:y 1.0.0:z,v", groupsOf(p))
	require.Equal(t, []string{"x", "z", "v"}, outer)
	require.Equal(t, []string{"x", "z", "v"}, inner)
}

func TestPartition_Nested(t *testing.T) {
	a, b := onlyKinds(t, "a"), onlyKinds(t, "b")
	inner := composite(t, a, b)
	soc := composite(t, inner, newTarget(t, "llvm"))
	p := must.Get(partition.New(graph(t, "x:a y:b(x) z:c(y) u:a"), soc))(t)
	require.Equal(t, "0.0:u,x 0.1:y 1:z", groupsOf(p))
	z, _ := p.Why("z")
	require.Equal(t, []partition.Refusal{
		{Member: []int{0, 0}, Target: a, Reason: "kinds are a"}, {Member: []int{0, 1}, Target: b, Reason: "kinds are b"},
	}, z.Refused)

	guarded := newKind(t, target.Composite(), target.WithAttr(target.ColumnPartitioner, func(_ *target.Target,
		op *target.Op) (bool, string) {
		return op.Name != "x", "no x"
	}))
	soc = composite(t, newTarget(t, map[string]any{"kind": guarded, "devices": []any{a, b}}), newTarget(t, "llvm"))
	p = must.Get(partition.New(graph(t, "x:a y:b(x) z:c(y) u:a"), soc))(t)
	require.Equal(t, "0.0:u 1:x 0.1:y 1:z", groupsOf(p))
	x, _ := p.Why("x")
	require.Len(t, x.Refused, 1, "the members of what refuses are not asked")
	require.Equal(t, "no x", x.Refused[0].Reason)
}

// TestPartition_NestedStrategy checks that a strategy gets the operations left for its target as a complete graph.
func TestPartition_NestedStrategy(t *testing.T) {
	var seen *target.Graph
	kind := newKind(t, target.Composite(),
		target.WithAttr(target.ColumnPartitioner, target.Predicate(func(_ *target.Target, op *target.Op) (bool,
			string) {
			return op.Kind != "c", "no c"
		})),
		target.WithAttr(target.ColumnStrategy, target.Strategy(func(g *target.Graph, of *target.Target) ([]target.Assignment,
			error) {
			seen = g
			var answer []target.Assignment
			for _, op := range g.Ops {
				answer = append(answer, target.Assignment{Op: op.Name, Member: len(of.Members()) - 1, Reason: "the last"})
			}
			return answer, nil
		})))
	soc := composite(t, onlyKinds(t, "a"), newTarget(t, map[string]any{"kind": kind, "devices": []any{"cuda -arch=sm_90",
		"c"}}), newTarget(t, "llvm"))
	p := must.Get(partition.New(graph(t, "w:c(z) z:b(y,q) y:b(x,p) x:a(in) v:b(y)"), soc))(t)
	require.Equal(t, "0:x 1.1:y,v,z 2:w", groupsOf(p))
	require.Equal(t, &target.Graph{
		Ops: []target.Op{{Name: "y", Kind: "b", Inputs: []string{"x", "p"}}, {Name: "v", Kind: "b", Inputs: []string{"y"}},
			{Name: "z", Kind: "b", Inputs: []string{"y", "q"}}},
		Inputs: []string{"x", "p", "q"}, Outputs: []string{"v", "z"},
	}, seen)
	y, _ := p.Why("y")
	require.Equal(t, fmt.Sprintf(`the strategy of kind %q: the last; kind "c" accepts every operation`, kind), y.Reason)
}

// TestPartition_Copies checks that neither a partitioner nor a reader of a plan can change the graph.
func TestPartition_Copies(t *testing.T) {
	spoils := func(op *target.Op) {
		op.Inputs[0], op.Attrs["dtype"], op.Name, op.Kind = "spoilt", "spoilt", "spoilt", "spoilt"
	}
	bad := taking(t, func(_ *target.Target, op *target.Op) (bool, string) { spoils(op); return false, "" })
	kind := newKind(t, target.Composite(), target.WithAttr(target.ColumnStrategy, func(g *target.Graph,
		_ *target.Target) ([]target.Assignment, error) {
		name := g.Ops[0].Name
		spoils(&g.Ops[0])
		return []target.Assignment{{Op: name, Member: 0}}, nil
	}))
	fresh := func() *target.Graph {
		return &target.Graph{Ops: []target.Op{{Name: "x", Kind: "a", Inputs: []string{"in"},
			Attrs: map[string]any{"dtype": "int8"}}}}
	}
	for _, soc := range []*target.Target{composite(t, bad, newTarget(t, "llvm")),
		newTarget(t, map[string]any{"kind": kind, "devices": []any{"llvm"}})} {
		g := fresh()
		p := must.Get(partition.New(g, soc))(t)
		require.Equal(t, fresh().Ops, p.Groups[0].Ops)
		spoils(&p.Groups[0].Ops[0])
		require.Equal(t, fresh(), g)
	}
}

// TestSetAttr_KnownColumns checks that plain functions are converted to the columns' types, and that other values are
// rejected.
func TestSetAttr_KnownColumns(t *testing.T) {
	takesAll := func(*target.Target, *target.Op) (bool, string) { return true, "all" }
	kind := newKind(t)
	require.NoError(t, target.SetAttr(kind, target.ColumnPartitioner, takesAll))
	k := must.Get(target.LookupKind(kind))(t)
	p, ok := target.Attr[target.Predicate](k, target.ColumnPartitioner)
	require.True(t, ok)
	takes, reason := p(nil, nil)
	require.True(t, takes)
	require.Equal(t, "all", reason)

	plain, mixed := newKind(t), newKind(t, target.Composite())
	for _, err := range []error{
		target.SetAttr(plain, target.ColumnPartitioner, func(*target.Op) bool { return true }),
		target.SetAttr(plain, target.ColumnPartitioner, target.Predicate(nil)),
		target.SetAttr[any](plain, target.ColumnPartitioner, nil),
		target.SetAttr(mixed, target.ColumnStrategy, takesAll),
		target.SetAttr(mixed, target.ColumnStrategy, target.Strategy(nil)),
		target.SetAttr(plain, target.ColumnStrategy, func(*target.Graph, *target.Target) ([]target.Assignment,
			error) {
			return nil, nil
		}),
	} {
		require.ErrorIs(t, err, target.ErrRegister)
	}
	_, err := target.RegisterKind("nomembers", dlpack.CPU, target.WithAttr(target.ColumnStrategy, target.Strategy(
		func(*target.Graph, *target.Target) ([]target.Assignment, error) { return nil, nil })))
	require.ErrorIs(t, err, target.ErrRegister)
	require.ErrorContains(t, err, "declare it with target.Composite")
	require.NotContains(t, target.Kinds(), "nomembers")
}

func TestPartition_AtOnce(t *testing.T) {
	soc := composite(t, onlyKinds(t, "even"), newTarget(t, "llvm"))
	g := shaped(200, shapes[2].op)
	want := must.Get(partition.New(g, soc))(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			p, err := partition.New(g, soc)
			if err != nil || p.JSON() != want.JSON() {
				t.Errorf("another plan: %v", err)
			}
		})
	}
	all.Wait()
}

func TestPlan_JSON(t *testing.T) {
	kind := newKind(t, target.WithAttr(target.ColumnPartitioner, func(_ *target.Target, op *target.Op) (bool, string) {
		return op.Kind == "a", "a < b"
	}))
	soc := composite(t, newTarget(t, kind), newTarget(t, "stackvm"))
	p := must.Get(partition.New(graph(t, "x:a(in) y:b(x)"), soc))(t)
	want := `{"target":` + soc.JSON() + `,"inputs":["in"],"outputs":["y"],"groups":[` +
		`{"member":[0],"kind":"` + kind + `","after":[],"inputs":["in"],"outputs":["x"],"ops":[` +
		`{"name":"x","kind":"a","inputs":["in"],"reason":"a < b","refused":[]}]},` +
		`{"member":[1],"kind":"stackvm","after":[0],"inputs":["x"],"outputs":["y"],"ops":[` +
		`{"name":"y","kind":"b","inputs":["x"],"reason":"kind \"stackvm\" accepts every operation","refused":[` +
		`{"member":[0],"kind":"` + kind + `","reason":"a < b"}]}]}]}`
	require.Equal(t, want, p.JSON())
	require.Equal(t, want, string(must.Get(p.MarshalJSON())(t)))

	p = must.Get(partition.New(&target.Graph{}, newTarget(t, "stackvm")))(t)
	require.True(t, strings.HasSuffix(p.JSON(), `,"inputs":[],"outputs":[],"groups":[]}`), p.JSON())
	require.Empty(t, p.String())
	p = must.Get(partition.New(graph(t, "x:a"), newTarget(t, "stackvm")))(t)
	require.Contains(t, p.JSON(), `"groups":[{"member":[],"kind":"stackvm",`)
}

// TestPlan_Foreign prints plans that New did not make.
func TestPlan_Foreign(t *testing.T) {
	p := &partition.Plan{Target: &target.Target{}, Groups: []partition.Group{{Ops: []target.Op{{Name: "x", Kind: "a"}}}},
		Decisions: []partition.Decision{{Op: "x", Refused: []partition.Refusal{{Reason: "not \xff"}}}}}
	require.Equal(t, "group 0: \n  in: \n  out: \n  x = a(): \n    not : not \xff\n", p.String())
	require.Equal(t, `{"target":null,"inputs":null,"outputs":null,"groups":[{"member":null,"kind":"","after":null,`+
		`"inputs":null,"outputs":null,`+
		`"ops":[{"name":"x","kind":"a","inputs":[],"reason":"","refused":[{"member":[],"kind":"","reason":"not `+
		`\ufffd"}]}]}]}`, p.JSON())
}
