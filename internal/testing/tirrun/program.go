package tirrun

import (
	"fmt"
	"math/rand/v2"

	"tvmgo/tir"
)

// Options of Compile. The zero value is what Run uses.
type Options struct {
	Seed     uint64 // of the order of concurrent iterations
	MaxSteps int64  // limits the loop iterations and calls of one Call; 0: 1<<40
	MaxBytes int64  // of one allocation; 0: 1 GiB
	Warp     int    // the threads of a warp; 0: 32

	// Funcs has the packed and extern functions. Arguments are int64, uint64, float64, bool, string, *Array (the memory
	// from the address on), or slices of those for vectors. The result is converted to the type of the call. A panic is
	// an error.
	Funcs map[string]func(args []any) (any, error)
}

const maxCallDepth = 200

// Program is a compiled module. It is safe for concurrent use.
type Program struct {
	options Options
	module  *tir.IRModule
	funcs   map[string]*function
}

// function is a compiled function.
type function struct {
	source *tir.PrimFunc
	name   string
	body   func(*frame) control
	// the number of slots of a frame: one for each variable, and for each lane of an intermediate vector
	ints       int
	floats     int
	handles    int
	params     []param
	bind       []func(*frame) // assigns the variables of buffers, then checks all
	check      []func(*frame)
	hasBarrier bool
}

// param is the slot of a parameter.
type param struct {
	v    *tir.Var
	slot int
}

// frame is the state of a call, or of one of its threads.
type frame struct {
	name    string // of the function
	x       *run
	i       []int64
	f       []float64
	h       []any
	levels  []level
	kernel  *kernel
	dims    [numDims]int64
	barrier func(*tir.Call) // suspends this thread until all threads have arrived; nil: there are no other threads
	depth   int

	caller   *frame
	calledAt *position

	ri     int64 // the result
	rf     float64
	allocs map[*tir.Alloc]*memory // for reuse
}

// run is shared by all frames of a Call.
type run struct {
	p     *Program
	steps int64
	epoch uint32
	rng   *rand.Rand
	known map[*byte]*memory // memory by the first byte of the array, so that arrays share it
}

func (x *run) newEpoch() uint32 {
	x.epoch++
	return x.epoch
}

// step counts an iteration.
func (f *frame) step(at *position) {
	if f.x.steps--; f.x.steps < 0 {
		f.fail(at, ErrLimit, "more than %d steps: raise Options.MaxSteps if the program needs more",
			f.x.p.options.MaxSteps)
	}
}

// Compile compiles a module to closures. The module must not change afterwards.
func Compile(m *tir.IRModule, o Options) (p *Program, err error) {
	if m == nil {
		return nil, &Fault{Func: "?", Sort: ErrInvalid, Text: "the module is nil"}
	}
	if o.MaxSteps <= 0 {
		o.MaxSteps = 1 << 40
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 30
	}
	p = &Program{options: o, module: m, funcs: map[string]*function{}}
	name := "?"
	defer func() {
		if err != nil {
			p = nil
		}
	}()
	defer func() { caught(recover(), name, &err) }()
	barriers := findBarriers(m)
	for _, f := range m.Funcs {
		if f == nil {
			return nil, &Fault{Func: "?", Sort: ErrInvalid, Text: "a function of the module is nil"}
		}
		if p.funcs[f.Name] != nil {
			return nil, &Fault{Func: f.Name, Sort: ErrInvalid, Text: "two functions have this name"}
		}
		// All functions exist before one is compiled: they may call each other.
		p.funcs[f.Name] = &function{source: f, name: f.Name, hasBarrier: barriers[f.Name]}
	}
	for _, f := range m.Funcs {
		name = f.Name
		p.compile(p.funcs[f.Name])
	}
	return p, nil
}

// compile compiles a function.
func (p *Program) compile(fn *function) {
	c := &compiler{p: p, fn: fn, slots: map[*tir.Var]int{}, bound: map[*tir.Var]bool{},
		copies: copiesLater(fn.source)}
	f := fn.source
	for _, v := range f.Params {
		if v == nil {
			c.fail("a parameter is nil")
		}
		fn.params = append(fn.params, param{v, c.define(v)})
	}
	c.buffers(f)
	if f.Body == nil {
		c.fail("the function has no body")
	}
	fn.body = c.stmt(f.Body)
}

// compiler compiles one function.
type compiler struct {
	p         *Program
	fn        *function
	slots     map[*tir.Var]int
	bound     map[*tir.Var]bool // variables in scope
	at        *position
	local     []localSlot // enclosing allocations of scope local and shared
	loops     int         // enclosing loops with concurrent iterations
	parallels int         // parallel ones among them, inside the innermost ThreadBind
	late      []func()    // see buffers
	copies    bool        // the function starts asynchronous copies
	later     bool        // inside stores that are such copies
}

// localSlot is an allocated buffer of which each thread or block has a copy.
type localSlot struct {
	slot  int
	scope scope
}

// fail aborts the compilation.
func (c *compiler) fail(format string, args ...any) {
	panic(&Fault{Func: c.fn.name, Sort: ErrInvalid, Text: fmt.Sprintf(format, args...)})
}

// reserve allocates slots in the frame for the lanes of a type.
func (c *compiler) reserve(t tir.Type) int {
	n := max(int(t.Lanes), 1)
	var count *int
	switch {
	case tir.IsFloat(t):
		count = &c.fn.floats
	case tir.IsHandle(t):
		count = &c.fn.handles
	default:
		count = &c.fn.ints
	}
	*count += n
	return *count - n
}

// define assigns a slot to a variable, and begins its scope.
func (c *compiler) define(v *tir.Var) int {
	if v == nil {
		c.fail("a variable is nil")
	}
	c.valid("variable "+v.Name, v.Type)
	if c.bound[v] {
		c.fail("variable %s is defined inside its own scope: use another variable", v.Name)
	}
	c.bound[v] = true
	slot, ok := c.slots[v]
	if !ok {
		slot = c.reserve(v.Type)
		c.slots[v] = slot
	}
	return slot
}

// leave ends the scope of a variable.
func (c *compiler) leave(v *tir.Var) { delete(c.bound, v) }

// slot returns the slot of a variable.
func (c *compiler) slot(v *tir.Var) int {
	if v == nil {
		c.fail("a variable is nil")
	}
	if !c.bound[v] {
		c.fail("variable %s (%s) has no value here", v.Name, v.Type)
	}
	return c.slots[v]
}

// valid fails for a type that values cannot have.
func (c *compiler) valid(what string, t tir.Type) {
	if !validType(t) {
		c.fail("%s: values cannot have type %s", what, t)
	}
}

func validType(t tir.Type) bool {
	if t.Lanes < 1 || t.Lanes > tir.MaxLanes {
		return false
	}
	switch {
	case tir.IsInt(t):
		return t.Bits == 1 || t.Bits == 2 || t.Bits == 4 || t.Bits == 8 || t.Bits == 16 || t.Bits == 32 || t.Bits == 64
	case tir.IsBool(t):
		return t.Bits == 8
	case tir.IsFloat(t) && (t.Bits == 32 || t.Bits == 64):
		return t.Code == tir.Float32.Code
	case tir.IsFloat(t):
		m := formats[t.Code]
		return m != nil && (m.sign == 0 && t.Bits == 8 || m.sign == 1<<(t.Bits-1))
	}
	return t == tir.Handle
}

// Run compiles a module and runs one of its functions. Parameters are Go ints, floats and bools, and *Array for
// tensors.
func Run(m *tir.IRModule, name string, args ...any) error {
	p, err := Compile(m, Options{})
	if err != nil {
		return err
	}
	_, err = p.Call(name, args...)
	return err
}

// Call runs a function and returns its result: int64, uint64, float64 or bool; nil if it has none.
func (p *Program) Call(name string, args ...any) (result any, err error) {
	fn := p.funcs[name]
	if fn == nil {
		return nil, &Fault{Func: name, Sort: ErrArgument, Text: "the module has no such function"}
	}
	defer func() {
		if err != nil {
			result = nil
		}
	}()
	defer func() { caught(recover(), name, &err) }()
	f := fn.frame(p.newRun())
	f.bindArgs(fn, args)
	if fn.body(f) == proceed && noResult(fn.source.Result) != tir.Void {
		f.fail(nil, ErrInvalid, "the function ended without a result: want %s", fn.source.Result)
	}
	return fn.result(f), nil
}

func (p *Program) newRun() *run {
	return &run{p: p, steps: p.options.MaxSteps, rng: rand.New(rand.NewPCG(p.options.Seed, 0)), known: map[*byte]*memory{}}
}

// frame makes the frame of a call.
func (fn *function) frame(x *run) *frame {
	f := &frame{name: fn.name, x: x, i: make([]int64, fn.ints), f: make([]float64, fn.floats), h: make([]any, fn.handles)}
	for d := range f.dims {
		f.dims[d] = -1
	}
	return f
}

// result converts the returned value to Go.
func (fn *function) result(f *frame) any {
	t := fn.source.Result
	switch {
	case tir.IsFloat(t):
		return f.rf
	case tir.IsBool(t):
		return f.ri != 0
	case tir.IsInt(t) && tir.IsSigned(t):
		return f.ri
	case tir.IsInt(t):
		return uint64(f.ri)
	}
	return nil
}
