package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/bench/page"
)

func htmlPage(t *testing.T, r *bench.Report) string {
	var b bytes.Buffer
	require.NoError(t, page.HTML(&b, r))
	return b.String()
}

// The same report gives the same bytes, names never become elements or attributes, and nothing is loaded.
func TestHTML_IsSelfContained(t *testing.T) {
	for name, r := range edges() {
		got := htmlPage(t, r)
		require.Equal(t, got, htmlPage(t, r), name)
		for _, bad := range []string{"http://", "https://", "@import", "url(", "<script>alert", "<img", "+Inf", "\x1b",
			"\u202e", "ZgotmplZ"} {
			require.False(t, strings.Contains(got, bad), "%s contains %q", name, bad)
		}
		body, _, _ := strings.Cut(got, "<script")
		require.False(t, strings.Contains(body, "NaN"), name)
		require.Equal(t, 1, strings.Count(got, "<script"), name)
		require.Contains(t, got, "default-src &#39;none&#39;", name)
	}
}

func TestHTML_Says(t *testing.T) {
	got := htmlPage(t, example())
	for _, want := range []string{"wall time", "unstable",
		"throttled: the device reduced its clock during the run: power limit",
		"wrong result", "element 4097 is 0.3117", "2 slower, 1 faster", "the driver of cuda:0 was 550.54", "≠",
		"matmul-f32-4096, cuBLAS"} {
		require.Contains(t, got, want)
	}
	require.Contains(t, htmlPage(t, edges()["stopped"]), "interrupted: signal: interrupt")
	require.Contains(t, htmlPage(t, &bench.Report{}), "Nothing was measured: the report has no rows.")
}
