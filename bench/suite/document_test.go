package suite

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/golden"
	"tvmgo/internal/testing/must"
)

// rowOf returns a case as a line of the table; for a family, its first case.
func rowOf(cases []*bench.Case) string {
	k := cases[0]
	name, doc := k.Name, k.Doc
	switch test, _, named := strings.Cut(name, "/"); {
	case len(cases) > 1 && named:
		last := strings.TrimPrefix(cases[len(cases)-1].Name, test+"/")
		name += "` … `" + last
		doc = strings.Replace(doc, " of 1", " of 1 to "+strings.TrimLeft(last, "abcdefghijklmnopqrstuvwxyz"), 1)
	case len(cases) > 1:
		name = strings.TrimPrefix(k.Family, k.Suite+"/") + "_…"
		doc, _, _ = strings.Cut(doc, ": ")
	}
	var others []string
	for _, o := range Origins(k) {
		text := o.Tool + " `" + o.Row + "`"
		if o.Note != "" {
			text += " (" + o.Note + ")"
		}
		others = append(others, text)
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, k.Figure.Unit(), doc, strings.Join(others, "; "))
}

// groupOf returns a name that the cases of one line of a table have in common: those of different sizes, and those of a
// test of clpeak.
func groupOf(k *bench.Case) string {
	if test, _, named := strings.Cut(k.Name, "/"); named {
		return test
	}
	if size := strings.TrimPrefix(k.ID(), k.Family+"_"); k.Family != "" && size != k.ID() {
		return k.Family
	}
	return k.ID()
}

// The tables of docs/benchmarks.md have each case, what one operation is, its unit, and where its name comes from.
func TestCases_AreDocumented(t *testing.T) {
	const page = "../../docs/benchmarks.md"
	text := string(must.Get(os.ReadFile(page))(t))
	for suite, cases := range map[string][]*bench.Case{"launch": Launch(), "bandwidth": copies(),
		"bandwidth: kernels": MemoryKernels(), "compute": Compute(), "kernels": Kernels(Options{})} {
		want := "| Case | Unit | An operation | In other tools |\n|---|---|---|---|\n"
		groups := map[string][]*bench.Case{}
		for _, k := range cases {
			groups[groupOf(k)] = append(groups[groupOf(k)], k)
		}
		for _, k := range cases {
			if group := groups[groupOf(k)]; group[0] == k {
				want += rowOf(group)
			}
		}
		heading := "### Suite " + suite
		at := regexp.MustCompile(`(?s)\n` + heading + `\n[^#|]*?((\|[^\n]*\n)+)`).FindStringSubmatchIndex(text)
		require.NotNil(t, at, "%s has no table under %q", page, heading)
		if golden.Updating() {
			text = text[:at[2]] + want + text[at[3]:]
			continue
		}
		require.Equal(t, want, text[at[2]:at[3]], "%s, %s: run go test ./bench/suite -run Documented -update", page, heading)
	}
	if golden.Updating() {
		require.NoError(t, os.WriteFile(page, []byte(text), 0o666))
	}
}

// Each case that another tool has is named once in the table, and each line of the table is of a case.
func TestOrigins(t *testing.T) {
	used := map[Origin]bool{}
	for _, k := range append(Launch(), Bandwidth()...) {
		for _, o := range Origins(k) {
			used[o] = true
		}
	}
	for _, o := range copyOrigins {
		require.True(t, used[o], "%+v", o)
		require.Contains(t, []string{"clpeak", "nvbandwidth", "vkpeak"}, o.Tool)
	}
}
