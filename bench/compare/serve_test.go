package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Each measure of a row of tvmgo serve has a figure, also when it is asked again, with new processes.
func TestServe_IsMeasured(t *testing.T) {
	s := newServePrograms(newTestModels(t))
	s.oneByOne, s.atOnce, s.clients = 5, 40, 4
	for range 2 {
		for _, r := range table {
			for _, measure := range []string{r.Ours, r.Base} {
				what, ofServe := strings.CutPrefix(measure, "serve.")
				if !ofServe || what == "one-floor" || what == "large-copy" { // this program is not the benchmark's
					continue
				}
				require.Positive(t, must.Get(s.ask(what))(t), measure)
			}
		}
		require.NotEmpty(t, s.servers)
		require.NoError(t, s.close())
		require.Empty(t, s.servers)
	}
}
