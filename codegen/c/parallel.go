package c

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tvmgo/tir"
)

// parallel runs the iterations of a loop on the runtime's threads: each thread calls one C function for a part of them.
// If there is little to do at run time, the calling thread executes all of them.
func (w *writer) parallel(s *tir.For) {
	w.usesTasks = true
	low := w.as(s.Var.Type, s.Min)
	extent := w.as(s.Var.Type, s.Extent)
	inner := function{used: map[*tir.Var]bool{}, read: map[*tir.Var]bool{}}
	inner.collect(s.Body)
	type capture struct {
		v           *tir.Var
		name, ctype string
	}
	var list []capture
	for v := range inner.used {
		if name, known := w.vars[v]; known && v != s.Var {
			list = append(list, capture{v, name, w.varType(v)})
		}
	}
	slices.SortFunc(list, func(a, b capture) int { return cmp.Compare(a.name, b.name) })

	if w.shared[w.fn.PrimFunc] {
		list = append(list, capture{name: selfName, ctype: "const char*"})
	}
	name := w.generator.names.pick(w.fn.Name + "_parallel_" + identifier(s.Var.Name))
	for w.names.hasBelow(name, &w.generator.names) {
		name = w.generator.names.pick(name)
	}
	w.names.take(name)
	itype := w.valueType(s.Var.Type)
	t := &writer{generator: w.generator, fn: w.fn, before: w.before, names: *w.names.within(), vars: map[*tir.Var]string{},
		types:  w.types,
		arrays: w.arrays, spans: w.spans, facts: w.facts, labels: names{taken: map[string]bool{}}, out: &text{depth: 1},
		inTask: true, mayReturn: false, nonTemporal: maps.Clone(w.nonTemporal)}
	low2, extent2 := t.temp(s.Var.Name+"_min"), t.temp(s.Var.Name+"_extent")
	def, values := &text{}, []string{low.text, extent.text}
	def.line("/* Variables of the surrounding function that the iterations over %s use. */", s.Var.Name)
	def.line("typedef struct {")
	def.line("  %s %s;", itype, low2)
	def.line("  %s %s;", itype, extent2)
	for _, c := range list {
		if c.v != nil {
			t.vars[c.v] = c.name
		}
	}
	begin, end := t.temp(s.Var.Name+"_begin"), t.temp(s.Var.Name+"_end")
	t.line("const int64_t tasks = penv->num_task, share = ((int64_t)closure->%s + tasks - 1) / tasks;", extent2)
	t.line("const int64_t from = task_id * share, to = from + share < (int64_t)closure->%s ? from + share : "+
		"(int64_t)closure->%s;", extent2, extent2)
	t.line("const %s %s = closure->%s + (%s)from, %s = closure->%s + (%s)to;", itype, begin, low2, itype, end, low2, itype)
	v := t.define(s.Var)
	t.learnLoop(s)
	t.line("for (%s %s = %s; %s < %s; ++%s) {", itype, v, begin, v, end, v)
	t.indented(func() { t.stmt(s.Body) })
	t.line("}")
	t.fence()

	var taken text
	body := t.out.String()
	for _, c := range list {
		if !w.long.hasWord(body, c.name) {
			continue
		}
		def.line("  %s %s;", c.ctype, c.name)
		taken.line("  %s %s = closure->%s;", constant(c.ctype), c.name, c.name)
		values = append(values, c.name)
	}
	def.line("} %s_args;", name)
	to := w.before
	to.line("")
	to.WriteString(def.String())
	to.line("")
	to.line("static int %s(int task_id, TVMParallelGroupEnv* penv, void* cdata) {", name)
	if t.usesRC {
		to.line("  int32_t rc = 0;")
	}
	to.line("  const %s_args* closure = cdata;", name)
	to.WriteString(taken.String())
	to.WriteString(t.out.String())
	to.line("  return 0;")
	to.line("}")

	args := w.temp(s.Var.Name + "_args")
	w.line("%s_args %s = {%s};", name, args, strings.Join(values, ", "))
	w.try(fmt.Sprintf("TVMBackendParallelLaunch(%s, &%s, %s)", name, args, w.tasks(s)))
}

// constant returns a type whose values cannot be changed.
func constant(ctype string) string {
	if strings.HasSuffix(ctype, "*") {
		return ctype + " const"
	}
	return "const " + ctype
}

// varType returns the C type of a variable.
func (w *writer) varType(v *tir.Var) string {
	switch element := w.types[v]; {
	case element != "":
		return element + "*"
	case w.arrays[v]:
		return "const " + w.valueType(v.Type) + "*"
	case v.Type.Lanes > 1:
		return w.vectorType(v.Type)
	case w.fn.isTensor(v):
		return "const DLTensor*"
	}
	return w.valueType(v.Type)
}

// isTensor reports whether a variable is the description of a tensor.
func (fn *function) isTensor(v *tir.Var) bool {
	b := fn.Buffers[v]
	return b != nil && b.Data != v
}
