package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

// Rows whose figures the tests make up: a is a ratio, b a time, c has no target.
var (
	rowA = row{"a", "of a", "ours.a", "peer.a", 0.9, ratio}
	rowB = row{"b", "  of b", "ours.b", "ours.b", 50, absolute}
	rowC = row{"c", "of c", "ours.c", "peer.c", 0, record}
)

// madeUp returns the report of a run on a machine.
func madeUp(cpu string, rounds int, rows []row, medians map[string]float64) *report {
	results := map[string]summary{}
	for m, v := range medians {
		results[m] = summarize([]float64{v})
	}
	return newReport(machine{CPU: cpu, Load: "0.50 0.4 0.3"}, config{rounds: rounds}, rows, results, 0, os.ErrNotExist)
}

func TestCheck(t *testing.T) {
	listed := []knownMiss{{"a", "EPYC", "a reason"}}
	rows := []row{rowA, rowB, rowC}
	fast := map[string]float64{"ours.a": 8, "peer.a": 10, "ours.b": 40, "ours.c": 9, "peer.c": 1}
	slow := map[string]float64{"ours.a": 12, "peer.a": 10, "ours.b": 40, "ours.c": 9, "peer.c": 1}
	tests := []struct {
		name, cpu string
		medians   map[string]float64
		list      []knownMiss
		says, err string
	}{
		{"met", "AMD EPYC", fast, nil, "2 met, 0 missed, 0 missed as known", ""},
		{"missed", "AMD EPYC", slow, nil, "1 met, 1 missed, 0 missed as known", "missed: a"},
		{"known", "AMD EPYC", slow, listed, "1 met, 0 missed, 1 missed as known on this machine (AMD EPYC)", ""},
		{"known elsewhere", "Intel Xeon", slow, listed, "1 met, 1 missed, 0 missed as known", "missed: a"},
		{"unknown machine", "", slow, listed, "1 met, 1 missed", "missed: a"},
		{"known on every machine", "", slow, []knownMiss{{"a", "", "a reason"}}, "1 missed as known", ""},
		{"met again", "AMD EPYC", fast, listed, "met, but listed in bench/compare/known.go: a\n", ""},
		{"absent", "AMD EPYC", map[string]float64{"ours.a": 8, "peer.a": 10}, nil, "1 not measured", "not measured: b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			err := madeUp(tt.cpu, 21, rows, tt.medians).conclude(&out, tt.list)
			require.Contains(t, out.String(), tt.says)
			require.NotContains(t, out.String(), "warning")
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errTargets)
			require.ErrorContains(t, err, tt.err)
		})
	}
}

// A row that misses is measured with more rounds before it counts; one that is known to miss is not.
func TestCheck_MeasuresAgain(t *testing.T) {
	slow := map[string]float64{"ours.a": 12, "peer.a": 10, "ours.b": 60}
	for name, later := range map[string]float64{"met": 8, "missed": 11} {
		t.Run(name, func(t *testing.T) {
			list := []knownMiss{{"b", "", "a reason"}}
			r := madeUp("CPU", 5, []row{rowA, rowB}, slow)
			again := must.Get(r.measureAgain(list, func(rows []row, rounds int) (*report, error) {
				require.Equal(t, []row{rowA}, rows)
				require.Equal(t, 5*againFactor, rounds)
				return madeUp("CPU", rounds, rows, map[string]float64{"ours.a": later, "peer.a": 10}), nil
			}))(t)
			r.replace(again)
			require.Equal(t, later, r.Rows[0].Ours)
			require.Equal(t, later, r.Measures["ours.a"].Median)
			require.Equal(t, "measured again, 1.20 × at first", r.Rows[0].Note)
			require.Equal(t, name == "met", r.conclude(&bytes.Buffer{}, list) == nil)
		})
	}
	r := madeUp("CPU", 5, []row{rowA}, map[string]float64{"ours.a": 8, "peer.a": 10})
	require.Nil(t, must.Get(r.measureAgain(nil, nil))(t)) // would fail if it measured
}

func TestCheck_BusyMachine(t *testing.T) {
	for load, busy := range map[string]bool{"1.50 0 0": false, "1.51 0 0": true, "unknown": false} {
		r := madeUp("CPU", 5, []row{rowC}, nil)
		r.Machine.Load = load
		var out bytes.Buffer
		require.NoError(t, r.conclude(&out, nil))
		require.Equal(t, busy, bytes.Contains(out.Bytes(), []byte("warning: the load was ")), load)
	}
}

// A file of results is compared with the targets of today, not with those that it has.
func TestReadReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	old := madeUp("CPU", 21, []row{rowA, {ID: "gone", Ours: "ours.a", Base: "peer.a"}, {ID: boundRow, Ours: "ours.a",
		Base: "peer.a"}}, map[string]float64{"ours.a": 9, "peer.a": 10})
	require.NoError(t, os.WriteFile(path, must.Get(json.Marshal(old))(t), 0o600))
	strict, bound := rowA, row{ID: boundRow, Limit: 10, Relation: difference}
	strict.Limit = 0.8
	r := must.Get(readReport(path, []row{strict, rowB, bound}))(t)
	require.Len(t, r.Rows, 3)
	for i, want := range []status{missed, unmeasured, met} {
		s, _ := r.judge(r.Rows[i], nil)
		require.Equal(t, want, s, r.Rows[i].ID)
	}
	old.Rows[2].Note = "1 allocations"
	require.NoError(t, os.WriteFile(path, must.Get(json.Marshal(old))(t), 0o600))
	s, _ := r.judge(must.Get(readReport(path, []row{bound}))(t).Rows[0], nil)
	require.Equal(t, missed, s)

	require.NoError(t, os.WriteFile(path, []byte("no JSON"), 0o600))
	_, err := readReport(path, table)
	require.ErrorContains(t, err, "r.json: invalid character")
}

func TestMarkdown(t *testing.T) {
	r := madeUp("AMD EPYC", 21, []row{rowA, rowB, rowC}, map[string]float64{"ours.a": 12, "peer.a": 10, "ours.b": 40})
	var out bytes.Buffer
	r.markdown(&out, []knownMiss{{"a", "EPYC", "a reason"}})
	require.Contains(t, out.String(), "**AMD EPYC, 0 cores, ")
	require.Contains(t, out.String(), "\n| of a | 12 ns | 10 ns | 1.20 × | ≤ 0.90 × | **missed**; a reason |\n"+
		"| – of b | 40 ns |  |  | ≤ 50 ns | met |\n| of c |  |  |  |  | not measured; file does not exist |\n")
	require.Equal(t, "one two\nthree four", wrap("one two three four", 10))
}

// A known miss is of a row that has a target, and has a reason.
func TestKnown_AreRows(t *testing.T) {
	targets := map[string]bool{}
	for _, r := range table {
		targets[r.ID] = r.Relation != record
	}
	for _, k := range known {
		require.True(t, targets[k.row], k.row)
		require.NotEmpty(t, k.reason, k.row)
	}
}
