package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestPrintCard(t *testing.T) {
	dir := t.TempDir()
	show := func() (string, error) {
		var b strings.Builder
		err := printCard(&b, dir)
		return b.String(), err
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("2026-11-21-cpu.json", "{}")
	got := must.Get(show())(t)
	require.Contains(t, got, "CUDA on a card: not measured")

	write("2026-11-21-cuda.json", "older, and not read")
	const rows = `"rows": [
{"name": "launch", "unit": "ns", "ours": 1700, "raw": 1600, "difference": 100,
 "relation": "difference at most", "target": 150, "met": true},
{"name": "graph", "unit": "us", "ours": 1200, "raw": 1000, "ratio": 1.2,
 "relation": "ratio at most", "target": 1.02, "met": false},
{"name": "workspace", "unit": "ns", "ours": 21, "raw": null, "relation": "record", "target": null, "met": null}]}`
	write("2026-12-01-cuda.json", `{"device": "NVIDIA H200", "driver_version": "13.0", "rounds": 21, "quick": false, `+
		rows)
	got = must.Get(show())(t)
	require.Contains(t, got, "NVIDIA H200, the driver of CUDA 13.0, medians of 21 alternating rounds")
	require.NotContains(t, got, "not measured")
	for _, want := range []string{`launch +1700 ns +1600 ns +difference at most 150 +met`,
		`graph +1200 us +1000 us +ratio at most 1.02 +MISSED`, `workspace +21 ns`} {
		require.Regexp(t, want, got)
	}

	for text, want := range map[string]string{
		"no JSON":                                "2026-12-02-cuda.json: invalid",
		`{"device": "x", "quick": true, ` + rows: "no result of a whole run",
		`{}`:                                     "no result of a whole run",
	} {
		write("2026-12-02-cuda.json", text)
		require.ErrorContains(t, must.Fail(show()), want)
	}
}
