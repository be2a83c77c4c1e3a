package transform_test

import (
	"bytes"
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/tirgen"
	"tvmgo/internal/testing/tirrun"
	"tvmgo/tir"
	"tvmgo/tir/text"
	"tvmgo/tir/transform"
)

var programs = flag.Int("programs", 600, "how many programs TestPasses_Random makes")

func ran(t *testing.T, m *tir.IRModule, seed uint64) ([]any, error) {
	p, err := tirrun.Compile(m, tirrun.Options{Seed: seed, MaxSteps: 1 << 20})
	if err != nil {
		return nil, err
	}
	args := must.Get(tirgen.Arguments(m.Funcs[0], seed))(t)
	_, err = p.Call("f", args...)
	return args, err
}

// Random programs compute the same before and after the passes: each pass alone, and each pipeline.
func TestPasses_Random(t *testing.T) {
	each := pipelines()
	for name, s := range passes() {
		each[name] = transform.Pipeline{s}
	}
	// others at times
	always := map[string]bool{"vectorize": true, "unroll": true, "loop partition": true, "host": true, "kernels": true}
	vectors, loops, fewer, guards, failed := 0, 0, 0, 0, 0
	for k := range *programs {
		seed := uint64(k)
		m := must.Get(tir.NewModule(tirgen.Function("f", seed)))(t)
		require.NoError(t, tir.Check(m), "seed %d", seed)
		source := text.Print(m)
		ranAlready := map[string]bool{source: true} // equal results of several passes run once
		want, wantErr := ran(t, m, seed)
		if wantErr != nil {
			failed++
		}
		for name, pipeline := range each {
			if seed%4 > 0 && !always[name] {
				continue
			}
			passed, err := pipeline.Run(m, nil)
			require.NoError(t, err, "seed %d", seed)
			what := func() string {
				return fmt.Sprintf("seed %d, %s:\n%s\nbecame\n%s", seed, name, source, text.Print(passed))
			}
			if err := tir.Check(passed); err != nil {
				require.NoError(t, err, what())
			}
			if became := text.Print(passed); !ranAlready[became] {
				ranAlready[became] = true
				got, err := ran(t, passed, seed)
				if (wantErr != nil) != (err != nil) {
					require.Equal(t, wantErr, err, what())
				}
				for i := range want {
					if !bytes.Equal(want[i].(*tirrun.Array).Data, got[i].(*tirrun.Array).Data) {
						require.Equal(t, want[i].(*tirrun.Array).Data, got[i].(*tirrun.Array).Data, "buffer b%d, %s",
							i, what())
					}
				}
			}
			before, after := survey(m), survey(passed)
			switch name {
			case "vectorize":
				require.Zero(t, after.vectorized, "seed %d", seed)
				vectors += after.stores
				loops += before.vectorized
			case "unroll":
				require.Zero(t, after.unrolled, "seed %d", seed)
				if after.loops < before.loops {
					fewer++
				}
			case "loop partition":
				if after.loops > before.loops {
					guards++
				}
			}
		}
		require.Equal(t, source, text.Print(m), "seed %d: a pass has changed its argument", seed)
	}
	t.Logf("%d programs, of which %d fail: %d loops of kind vectorized became %d stores of vectors; %d programs had "+
		"loops unrolled, %d had loops split",
		*programs, failed, loops, vectors, fewer, guards)
	require.Greater(t, vectors, *programs/4)
	require.Greater(t, fewer, *programs/4)
	require.Greater(t, guards, *programs/20)
	require.Less(t, failed, *programs/4)
}

// seen counts the parts of a program.
type seen struct{ loops, vectorized, unrolled, stores int }

func survey(m *tir.IRModule) (n seen) {
	tir.Walk(m, func(node any) bool {
		switch x := node.(type) {
		case *tir.For:
			n.loops++
			switch x.Kind {
			case tir.Vectorized:
				n.vectorized++
			case tir.Unrolled:
				n.unrolled++
			}
		case *tir.BufferStore:
			if x.Value.DType().Lanes > 1 {
				n.stores++
			}
		}
		return true
	})
	return n
}
