package passes

import (
	"context"
	"fmt"
	"time"

	"tvmgo/graph"
	"tvmgo/target"
)

// Pass is a change of functions.
type Pass struct {
	Name string // in lower case
	// Run changes a function for a target. If it fails, the function still computes the same.
	Run func(ctx context.Context, f *graph.Function, t *target.Target, o Options) error
}

// Options are what passes need of the program around them.
type Options struct {
	// Evaluate runs a function without parameters, and returns the data of its results, as graph.Const describes it. It
	// is nil where no code can be run: constants are not computed then.
	Evaluate func(ctx context.Context, f *graph.Function) ([][]byte, error)
	// Portable says that code is also generated for other targets: layouts are those that all of them have.
	Portable bool
	// Direct says that no convolution uses Winograd's algorithm.
	Direct bool
	// Report is called after each pass, with its name and the time that it took; it may be nil.
	Report func(pass string, took time.Duration)
}

// Pipeline lists the passes in the order in which Run runs them.
var Pipeline = []Pass{
	{"dead", dead},
	{"simple", rules(simple...)},
	{"fold", fold},
	{"common", common},
	{"formulas", rules(formulas...)},
	{"attention", attention},
	{"transposes", rules(moved...)},
	{"affine", weights},
	{"blocked", blocked},
	{"constants", fold},
	{"last", dead},
}

// Run runs the passes of Pipeline. The error names the pass. f must not be a body.
func Run(ctx context.Context, f *graph.Function, t *target.Target, o Options) error {
	for _, p := range Pipeline {
		if err := ctx.Err(); err != nil {
			return err
		}
		began := time.Now()
		if err := p.Run(ctx, f, t, o); err != nil {
			return fmt.Errorf("pass %s of function %q: %w", p.Name, f.Name, err)
		}
		if o.Report != nil {
			o.Report(p.Name, time.Since(began))
		}
	}
	return nil
}
