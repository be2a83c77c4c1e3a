package suite

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
)

// testSuites replaces the suites for a test.
func testSuites(t *testing.T) {
	t.Helper()
	open := func(context.Context, *bench.Device) (bench.Work, error) { return nil, bench.ErrNotMeasured }
	of := func(suite, name string, limits ...string) *bench.Case {
		return &bench.Case{Suite: suite, Name: name, Limits: limits, Variants: []bench.Variant{{Open: open}}}
	}
	old := slices.Clone(suites)
	t.Cleanup(func() { suites = old })
	family := func(k *bench.Case, name string) *bench.Case { k.Family = name; return k }
	for i, cases := range [][]*bench.Case{
		{of("launch", "empty"), of("launch", "round_trip")},
		{of("bandwidth", "global"), of("bandwidth", "device_local_copy", "bandwidth/global")},
		{family(of("compute", "fp32-scalar"), "compute/fp32"), family(of("compute", "fp32-vec4"), "compute/fp32"),
			of("compute", "fp64")},
		{of("kernels", "matmul", "compute/fp32", "bandwidth/device_local_copy"), of("kernels", "add", "bandwidth/nowhere")},
	} {
		suites[i].cases = func(Options) []*bench.Case { return cases }
	}
}

func TestSelect(t *testing.T) {
	testSuites(t)
	for _, c := range []struct {
		names []string
		more  Options
		want  []string
	}{
		{nil, Options{}, nil},
		{[]string{"launch"}, Options{}, []string{"launch/empty", "launch/round_trip"}},
		{[]string{"launch/round_trip", "launch/round_trip"}, Options{}, []string{"launch/round_trip"}},
		{[]string{"compute/fp64", "launch"}, Options{}, []string{"launch/empty", "launch/round_trip", "compute/fp64"}},
		{[]string{"launch/empty", "launch"}, Options{}, []string{"launch/empty", "launch/round_trip"}},
		{[]string{"compute/fp32"}, Options{}, []string{"compute/fp32-scalar", "compute/fp32-vec4"}},
		// A limit, and the limit of a limit, are measured before.
		{[]string{"kernels/matmul"}, Options{},
			[]string{"bandwidth/global", "bandwidth/device_local_copy", "compute/fp32-scalar", "compute/fp32-vec4",
				"kernels/matmul"}},
		{[]string{"kernels/matmul"}, Options{WithoutLimits: true}, []string{"kernels/matmul"}},
		{[]string{"all"}, Options{WithoutLimits: true}, []string{"launch/empty", "launch/round_trip", "bandwidth/global",
			"bandwidth/device_local_copy", "compute/fp32-scalar", "compute/fp32-vec4", "compute/fp64", "kernels/matmul",
			"kernels/add"}},
	} {
		cases, err := Select(c.names, c.more)
		require.NoError(t, err, "%v", c.names)
		var got []string
		for _, k := range cases {
			got = append(got, k.ID())
		}
		require.Equal(t, c.want, got, "%v", c.names)
	}
}

func TestSelect_Errors(t *testing.T) {
	testSuites(t)
	for name, want := range map[string]string{
		"lunch":            `there is no suite "lunch": did you mean "launch"?`,
		"Bandwith":         `there is no suite "Bandwith": did you mean "bandwidth"?`,
		"":                 `there is no suite "": name one of launch, bandwidth, compute, kernels, all, or a case`,
		"everything":       `there is no suite "everything": name one of launch, bandwidth, compute,`,
		"compute/fp23":     `there is no case "compute/fp23": did you mean "compute/fp64"?`,
		"compute/":         `there is no case "compute/": did you mean "compute/fp64"?`,
		"launch/xyzuvwabc": `there is no case "launch/xyzuvwabc": "launch" selects the whole suite`,
		"nowhere/nothing":  `there is no suite "nowhere/nothing": name one of`,
		"kernels":          `case kernels/add has the limit bandwidth/nowhere, which is no case`,
	} {
		_, err := Select([]string{"launch", name}, Options{})
		require.ErrorContains(t, err, want)
	}
}

// The suites have unique names, units of their figures, a line of documentation, and limits that exist.
func TestSelect_All(t *testing.T) {
	require.Equal(t, []string{"launch", "bandwidth", "compute", "kernels"}, Names())
	cases, err := Select([]string{All}, Options{})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, k := range cases {
		require.False(t, seen[k.ID()], k.ID())
		seen[k.ID()], seen[k.Family] = true, true
		require.Contains(t, Names(), k.Suite)
		require.NotEmpty(t, k.Doc, k.ID())
		require.NotContains(t, k.Doc, "\n", k.ID())
		require.NotEmpty(t, k.Figure, k.ID())
		require.NotEmpty(t, k.Variants, k.ID())
		for _, id := range k.Limits {
			require.True(t, seen[id], "%s: its limit %s comes later", k.ID(), id)
		}
	}
}
