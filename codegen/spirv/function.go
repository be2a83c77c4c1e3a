package spirv

import (
	"fmt"
	"slices"

	spv "tvmgo/internal/spirv"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// writer generates the code of one kernel: a module with one entry point.
type writer struct {
	m   *module
	has features
	f   *tir.PrimFunc
	a   *arith.Analyzer
	err error

	vars   map[*tir.Var]binding
	memory map[*tir.Var]*memory // by the address of an allocation or of a parameter
	shared int64                // bytes of Workgroup memory

	vulkanModel bool // of memory
	warps       bool // the threads of warps work together

	interfaces []id // of the entry point: all global variables from version 1.4 on, earlier inputs alone
	builtins   map[uint32]id
	helpers    map[string]id
	types      map[string]id // types that the module has no other list for
	named      map[id]bool
	block      [3]int64          // the threads of a block
	reading    map[tir.Expr]bool // whether an expression reads memory

	body // of the function that is being written
}

// body is a function under construction.
type body struct {
	code      []uint32
	variables []uint32 // OpVariable instructions, which the first block begins with
	label     id       // of the current block
	known     map[operation]id
	knownLog  []operation
	memo      map[part]values // of expressions that do not read memory
	memoLog   []part
	now       map[part]values // of expressions that read memory, within one statement
	nowLog    []part
}

// operation is an instruction whose result depends on its operands alone.
type operation struct {
	op               uint16
	t, a, b, c, d, e uint32
}

// part is an expression, or one lane of it.
type part struct {
	e    tir.Expr
	only int
}

// values are the lanes of an expression.
type values = []id

// binding is the value of a variable: all its lanes, or, if only is not negative, that lane alone.
type binding struct {
	lanes values
	only  int
}

func newBody() body {
	return body{known: map[operation]id{}, memo: map[part]values{}, now: map[part]values{}}
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// op returns the result of an instruction without side effects. Equal instructions share one result.
func (w *writer) op(op uint16, t id, args ...id) id {
	key := operation{op: op, t: t}
	if len(args) > 5 {
		return w.fresh(op, t, args...)
	}
	for i, to := range [...]*uint32{&key.a, &key.b, &key.c, &key.d, &key.e} {
		if i < len(args) {
			*to = args[i]
		}
	}
	if r, ok := w.known[key]; ok {
		return r
	}
	r := w.fresh(op, t, args...)
	w.known[key] = r
	w.knownLog = append(w.knownLog, key)
	return r
}

// fresh returns the result of an instruction that reads memory, or depends on the position in the program.
func (w *writer) fresh(op uint16, t id, args ...id) id {
	r := w.m.newID()
	w.code = append(w.code, uint32(len(args)+3)<<16|uint32(op), t, r)
	w.code = append(w.code, args...)
	return r
}

// do writes an instruction without a result.
func (w *writer) do(op uint16, words ...uint32) { instruction(&w.code, op, words...) }

// begin begins a block.
func (w *writer) begin(label id) {
	w.do(spv.OpLabel, label)
	w.label = label
}

// scoped writes code that only some paths execute: its results are not known afterwards.
func (w *writer) scoped(write func()) {
	known := len(w.knownLog)
	w.within(write)
	for _, k := range w.knownLog[known:] {
		delete(w.known, k)
	}
	w.knownLog = w.knownLog[:known]
}

// within writes code in which variables have values that they do not have elsewhere.
func (w *writer) within(write func()) {
	memo, now := len(w.memoLog), len(w.nowLog)
	write()
	now = min(now, len(w.nowLog))
	for _, k := range w.memoLog[memo:] {
		delete(w.memo, k)
	}
	for _, k := range w.nowLog[now:] {
		delete(w.now, k)
	}
	w.memoLog, w.nowLog = w.memoLog[:memo], w.nowLog[:now]
}

// forget drops values that were read from memory: a statement ends.
func (w *writer) forget() {
	for _, k := range w.nowLog {
		delete(w.now, k)
	}
	w.nowLog = w.nowLog[:0]
}

// selection writes two branches, and returns the values that the taken one gives; other may be nil if there are none.
func (w *writer) selection(cond id, types []id, then, other func() values) values {
	first, merge := w.m.newID(), w.m.newID()
	second := merge
	if other != nil {
		second = w.m.newID()
	}
	w.do(spv.OpSelectionMerge, merge, 0)
	w.do(spv.OpBranchConditional, cond, first, second)
	var a, b values
	var fromA, fromB id
	w.scoped(func() {
		w.begin(first)
		a = then()
		fromA = w.label
		w.do(spv.OpBranch, merge)
	})
	if other != nil {
		w.scoped(func() {
			w.begin(second)
			b = other()
			fromB = w.label
			w.do(spv.OpBranch, merge)
		})
	}
	w.begin(merge)
	if w.err != nil || len(a) != len(types) || len(b) != len(types) {
		return make(values, len(types))
	}
	out := make(values, len(types))
	for i, t := range types {
		out[i] = w.fresh(spv.OpPhi, t, a[i], fromA, b[i], fromB)
	}
	return out
}

// loop writes a loop that carries values from one iteration to the next: they begin with start, and step returns those
// of the next iteration. It goes on while the condition holds.
func (w *writer) loop(control uint32, types []id, start values, cond func(now values) id,
	step func(now values) values) values {
	header, body, next, merge := w.m.newID(), w.m.newID(), w.m.newID(), w.m.newID()
	before := w.label
	now, after := make(values, len(types)), make([]int, len(types))
	w.do(spv.OpBranch, header)
	w.begin(header)
	for i := range types {
		now[i] = w.fresh(spv.OpPhi, types[i], start[i], before, 0, next)
		after[i] = len(w.code) - 2 // the value of the next iteration, which is not known yet
	}
	w.scoped(func() {
		w.do(spv.OpLoopMerge, merge, next, control)
		test := w.m.newID()
		w.do(spv.OpBranch, test)
		w.begin(test)
		c := cond(now)
		w.do(spv.OpBranchConditional, c, body, merge)
		var results values
		w.scoped(func() {
			w.begin(body)
			results = step(now)
			w.do(spv.OpBranch, next)
		})
		w.begin(next)
		for i, at := range after {
			if i < len(results) {
				w.code[at] = results[i]
			}
		}
		w.do(spv.OpBranch, header)
	})
	w.begin(merge)
	return now
}

// helper returns the result of a function of the module, which is written when it is first called.
func (w *writer) helper(name string, result id, params []id, args values, write func(args values) id) id {
	f, ok := w.helpers[name]
	if !ok {
		f = w.m.newID()
		w.helpers[name] = f
		outer := w.body
		w.body = newBody()
		signature := w.m.functionType(result, params...)
		given := make(values, len(params))
		var head []uint32
		instruction(&head, spv.OpFunction, result, f, 0, signature)
		for i, p := range params {
			given[i] = w.m.newID()
			instruction(&head, spv.OpFunctionParameter, p, given[i])
		}
		w.begin(w.m.newID())
		r := write(given)
		w.do(spv.OpReturnValue, r)
		w.finish(head)
		w.body = outer
		w.m.name(f, name)
	}
	return w.op(spv.OpFunctionCall, result, append(values{f}, args...)...)
}

// finish adds the function that was written to the module; head are the instructions before its first block.
func (w *writer) finish(head []uint32) {
	const label = 2 // the words of OpLabel
	to := &w.m.functions
	*to = append(*to, head...)
	*to = append(*to, w.code[:label]...)
	*to = append(*to, w.variables...)
	*to = append(*to, w.code[label:]...)
	instruction(to, spv.OpFunctionEnd)
}

// variable declares a variable of the function.
func (w *writer) variable(t id, name string) id {
	v := w.m.newID()
	instruction(&w.variables, spv.OpVariable, w.m.pointer(spv.ClassFunction, t), v, spv.ClassFunction)
	w.m.name(v, name)
	return v
}

// global declares a variable of the module.
func (w *writer) global(class uint32, t id, name string) id {
	v := w.m.newID()
	instruction(&w.m.globals, spv.OpVariable, w.m.pointer(class, t), v, class)
	w.m.name(v, name)
	if class == spv.ClassInput || w.has.version >= spirv14 {
		w.interfaces = append(w.interfaces, v)
	}
	return v
}

// roundingMode declares how floats of 16 bits are rounded, if the kernel computes with them.
func (w *writer) roundingMode(main id) {
	if !w.has.roundEven16 || !slices.Contains(w.m.capabilities, spv.Float16) {
		return
	}
	w.m.need(spv.RoundingModeRTE)
	if w.has.version < spirv14 {
		w.m.extend("SPV_KHR_float_controls")
	}
	const mode = spv.ModeDenormPreserve + uint32(spv.RoundingModeRTE-spv.DenormPreserve)
	instruction(&w.m.modes, spv.OpExecutionMode, main, mode, 16)
}

// emit returns the module of a kernel.
func emit(f *tir.PrimFunc, has features) (code []byte, uniform bool, err error) {
	w := &writer{m: newModule(), has: has, f: f, a: arith.NewAnalyzer(), vars: map[*tir.Var]binding{},
		memory: map[*tir.Var]*memory{}, builtins: map[uint32]id{}, helpers: map[string]id{},
		types: map[string]id{}, named: map[id]bool{}, block: [3]int64{1, 1, 1}, reading: map[tir.Expr]bool{},
		body: newBody()}
	w.m.need(spv.Shader)
	if w.vulkanModel = usesMatrices(f); w.vulkanModel {
		w.m.memoryModel = memoryVulkan
		w.m.need(spv.VulkanMemoryModel)
		if has.version < spirv15 {
			w.m.extend("SPV_KHR_vulkan_memory_model")
		}
	}
	w.needWarps()
	main, start := w.m.newID(), w.m.newID()
	void := w.m.void()
	signature := w.m.functionType(void)
	w.m.name(main, f.Name)
	w.begin(start)
	uniform = w.parameters()
	w.stmt(f.Body)
	w.do(spv.OpReturn)
	if w.err == nil && has.sharedMax > 0 && w.shared > has.sharedMax {
		w.fail("a block uses %d bytes of shared memory, and max_shared_memory_per_block of target vulkan allows %d: "+
			"compute smaller tiles", w.shared, has.sharedMax)
	}
	if w.err != nil {
		return nil, false, fmt.Errorf("kernel %s: %w", f.Name, w.err)
	}
	w.decorateBuffers()
	var head []uint32
	instruction(&head, spv.OpFunction, void, main, 0, signature)
	w.finish(head)
	slices.Sort(w.interfaces)
	instruction(&w.m.modes, spv.OpEntryPoint, slices.Concat([]uint32{uint32(spv.Compute), main}, text(f.Name),
		w.interfaces)...)
	if w.warps { // subgroups are only full along the first dimension
		w.block = [3]int64{w.block[0] * w.block[1] * w.block[2], 1, 1}
	}
	instruction(&w.m.modes, spv.OpExecutionMode, main, spv.ModeLocalSize, uint32(w.block[0]), uint32(w.block[1]),
		uint32(w.block[2]))
	w.roundingMode(main)
	return w.m.bytes(has.version), uniform, nil
}
