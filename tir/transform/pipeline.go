package transform

import (
	"fmt"
	"slices"

	"tvmgo/target"
	"tvmgo/tir"
	"tvmgo/tir/arith"
)

// Pass transforms a program for a target. It returns a new module, or its argument if it changes nothing, and leaves
// its argument unchanged. It rejects nil modules and functions without a body; the target may be nil.
type Pass = func(m *tir.IRModule, t *target.Target) (*tir.IRModule, error)

// Step is a pass and its requirements in a pipeline.
type Step struct {
	Name    string // the name of the pass in its errors
	Pass    Pass
	After   []string // passes that must not follow this one in a pipeline
	Kernels bool     // the pass runs on the kernels alone, after SplitHostDevice
}

// Pipeline is a list of passes in the order in which they run.
type Pipeline []Step

// The passes of this package and package arith, which the pipelines below put in order.
var (
	checkBounds   = Step{Name: "check bounds", Pass: CheckBounds}
	simplify      = Step{Name: "simplify", Pass: arith.Simplify}
	libraryCalls  = Step{Name: "library calls", Pass: LibraryCalls}
	loopPartition = Step{Name: "loop partition", Pass: LoopPartition, After: []string{"library calls"}}
	vectorize     = Step{Name: "vectorize", Pass: Vectorize,
		After: []string{"library calls", "loop partition", "flatten storage"}}
	unroll        = Step{Name: "unroll", Pass: Unroll, After: []string{"library calls", "vectorize"}}
	legalizeTypes = Step{Name: "legalize types", Pass: LegalizeTypes, After: []string{"verify memory",
		"software pipeline"}}
	reuseStorage   = Step{Name: "reuse storage", Pass: ReuseStorage, After: []string{"legalize types", "thread sync"}}
	hoistDivisions = Step{Name: "hoist divisions", Pass: HoistDivisions, After: []string{"simplify", "vectorize"}}
	flattenStorage = Step{Name: "flatten storage", Pass: FlattenStorage,
		After: []string{"thread sync", "reuse storage"}}
	verifyMemory = Step{Name: "verify memory", Pass: VerifyMemory}
	threadSync   = Step{Name: "thread sync", Pass: ThreadSync, After: []string{"legalize types"}}
	verifyLimits = Step{Name: "verify limits", Pass: VerifyLimits,
		After: []string{"legalize types", "reuse storage"}}
	splitHostDevice = Step{Name: "split host and device", Pass: SplitHostDevice,
		After: []string{"verify memory", "thread sync", "reuse storage", "verify limits",
			"use dynamic shared"}}
)

// ForEvery returns the passes that run first for every kind of target.
func ForEvery() Pipeline { return Pipeline{checkBounds} }

// ForHost returns the passes that run before C is generated.
func ForHost() Pipeline {
	return Pipeline{
		libraryCalls, // while matrix products are still loops
		simplify, loopPartition, simplify,
		vectorize, unroll,
		legalizeTypes, simplify,
		reuseStorage, hoistDivisions,
	}
}

// ForDevice returns the passes that run before the code of kernels in a language is generated. They leave kernels in
// one form, with their threads, barriers and shared memory ([ThreadSync]), with vectors that the language has and
// nothing that it lacks; and functions for the host (attribute "target"), for which the host's pipeline runs. Limits of
// a device, such as the number of threads of a block, are attributes of the target ([VerifyLimits]).
func ForDevice(l Language) Pipeline {
	all := Pipeline{
		verifyMemory,
		{Name: "software pipeline", Pass: SoftwarePipeline(l)},
		{Name: "legalize types", Pass: l.LegalizeTypes(), After: []string{"verify memory"}}, simplify,
		threadSync, // before passes change the accesses
		{Name: reuseStorage.Name, Pass: l.ReuseStorage(), After: reuseStorage.After},
		verifyLimits,
		{Name: "use dynamic shared", Pass: UseDynamicShared(l), After: []string{"reuse storage"}},
		splitHostDevice,
	}
	kernels := Pipeline{flattenStorage, simplify, // first: dimensions hide that elements are contiguous
		vectorize, unroll, simplify,
		{Name: "split vectors", Pass: SplitVectors(l), After: []string{"vectorize", "unroll"}}}
	kernels = append(kernels, l.Last...)
	kernels = append(kernels, Step{Name: "verify language", Pass: VerifyLanguage(l),
		After: []string{"split vectors", "flatten storage"}})
	for _, s := range kernels {
		s.Kernels = true
		all = append(all, s)
	}
	all = append(all, Step{Name: "align tensors", Pass: AlignTensors(l),
		After: []string{"split vectors", "split host and device"}})
	return all
}

// Run runs all passes of a pipeline.
func (p Pipeline) Run(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	for _, s := range p {
		var err error
		if m, err = s.run(m, t); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Names lists the passes in order.
func (p Pipeline) Names() []string {
	names := make([]string, len(p))
	for i, s := range p {
		names[i] = s.Name
	}
	return names
}

// CheckOrder returns an error if a pass runs before one that it has to follow, or lacks a name or a function.
func (p Pipeline) CheckOrder() error {
	for i, s := range p {
		if s.Name == "" || s.Pass == nil {
			return fmt.Errorf("pass %d of the pipeline (%q) needs a name and a function", i, s.Name)
		}
		for _, later := range p[i+1:] {
			if slices.Contains(s.After, later.Name) {
				return fmt.Errorf("pass %q runs before pass %q: it has to follow it", s.Name, later.Name)
			}
		}
	}
	return nil
}

func (s Step) run(m *tir.IRModule, t *target.Target) (*tir.IRModule, error) {
	if !s.Kernels || m == nil {
		return s.Pass(m, t)
	}
	kernels := &tir.IRModule{Attrs: m.Attrs}
	for _, f := range m.Funcs {
		if f != nil && IsKernel(f) {
			kernels.Funcs = append(kernels.Funcs, f)
		}
	}
	if len(kernels.Funcs) == 0 {
		return m, nil
	}
	changed, err := s.Pass(kernels, t)
	if err != nil {
		return nil, err
	}
	out := &tir.IRModule{Attrs: m.Attrs, Funcs: slices.Clone(m.Funcs)}
	for i, f := range out.Funcs {
		if k := changed.Func(f.Name); k != nil {
			out.Funcs[i] = k
		}
	}
	return out, nil
}
