package bench_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"tvmgo/bench"
	"tvmgo/internal/testing/must"
)

// reportText is the JSON of a report with two rows.
func reportText(t *testing.T) string {
	r := &rig{t: t}
	var text bytes.Buffer
	require.NoError(t, r.run(t.Context(), quick, []*bench.Case{r.kase("s", "one", "lib")}, "a").Write(&text))
	return text.String()
}

func TestRead_NotAReport(t *testing.T) {
	good := reportText(t)
	first := "\"samples_ns\": [\n        1000000,"
	replace := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"blank", " \n", "it is empty"},
		{"text", "hello", "line 1 is not JSON"},
		{"array", "[]", "it is a JSON array, expected the object of a report"},
		{"null", "null", `it has no "schema"`},
		{"other object", `{"clpeak": 1}`, `it has no "schema"`},
		{"other schema", replace("tvmgo-bench/1", "clpeak/1"), `its schema is "clpeak/1", expected tvmgo-bench/1`},
		{"future", replace("tvmgo-bench/1", "tvmgo-bench/12"), "its schema tvmgo-bench/12 is newer than tvmgo-bench/1"},
		{"past", replace("tvmgo-bench/1", "tvmgo-bench/0"), `its schema is "tvmgo-bench/0"`},
		{"schema of a number", replace(`"tvmgo-bench/1"`, "1"), "schema is a JSON number, expected string"},
		{"truncated", good[:len(good)/2], "the file is truncated after"},
		{"truncated at the end", strings.TrimSpace(good)[:len(strings.TrimSpace(good))-1], "the file is truncated after"},
		{"two reports", good + good, "is not JSON: invalid character '{' after top-level value"},
		{"NaN", replace("\"value\": 2", "\"value\": NaN"), "is not JSON: invalid character 'N'"},
		{"negative time", replace(first, "\"samples_ns\": ["+"-1000000,"),
			"row 0 (s/one on a): time 0 is -1e+06 ns: a time is positive"},
		{"zero time", replace(first, "\"samples_ns\": ["+"0,"), "time 0 is 0 ns"},
		{"huge", replace(first, "\"samples_ns\": ["+"1e999,"), "expected float64"},
		{"rows of text", replace(`"rows": [`, `"rows": ["x",`), "rows is a JSON string"},
		{"null row", replace(`"rows": [`, `"rows": [null,`), "row 0 is null"},
		{"status", replace(`"measured"`, `"perfect"`), `unknown status "perfect"`},
		{"figure", replace(`"flops"`, `"speed"`), `unknown figure "speed"`},
		{"clock", replace(`"wall time"`, `"sundial"`), `unknown clock "sundial"`},
		{"timer without wall time", replace(`"wall time"`, `"device timer"`), "without wall_ns"},
		{"calls", replace(`"calls": 1`, `"calls": 0`), "0 calls of a sample"},
		{"twice", replace(`"variant": "lib",`, ``), "there are two rows s/one on a"},
		{"no device", replace(`"device": "a"`, `"device": ""`), "suite, case or device is missing"},
		{"amount", replace(`"ops": 2000000`, `"ops": -1`), "an amount is negative"},
		{"wrong with samples", replace(`"measured"`, `"wrong result"`), `status "wrong result", but it has samples`},
		{"config", replace(`"rounds": 6`, `"rounds": -6`), "config: -6 rounds"},
		{"duration", replace(`"took_ns": `, `"took_ns": -`), "took_ns is -"},
		{"rounds", replace(`"calls": 1`, `"calls": 1, "rounds": [0, 1]`), "6 samples, but 2 rounds"},
		{"order of rounds", replace(`"calls": 1`, `"calls": 1, "rounds": [0, 1, 2, 5, 4, 6]`), "rounds do not ascend"},
		{"wall times", replace(`"calls": 1`, `"calls": 1, "wall_ns": [1]`), "6 samples, but 1 wall times"},
	} {
		err := must.Fail(bench.Read(strings.NewReader(c.text)))
		require.ErrorContains(t, err, "read the report: ", c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	for i := range len(good) - 2 { // every truncation
		require.Error(t, must.Fail(bench.Read(strings.NewReader(good[:i]))), "%d bytes", i)
	}
	disk := errors.New("the disk is gone")
	require.ErrorIs(t, must.Fail(bench.Read(iotest.ErrReader(disk))), disk)
	require.NotNil(t, must.Get(bench.Read(strings.NewReader(replace(`"schema"`, `"new": {"field": 1}, "schema"`))))(t))
}

// Any single byte that is changed gives a report or an error, and no panic.
func TestRead_ChangedBytes(t *testing.T) {
	good := []byte(reportText(t))
	for i := range good {
		for _, to := range []byte{0, '9', '-', '"', '{', ']'} {
			text := bytes.Clone(good)
			text[i] = to
			if r, err := bench.Read(bytes.NewReader(text)); err == nil {
				r.CompareWith(r)
				require.NoError(t, r.Write(&bytes.Buffer{}))
			}
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWrite_Errors(t *testing.T) {
	r := must.Get(bench.Read(strings.NewReader(reportText(t))))(t)
	require.ErrorContains(t, r.Write(full{}), "write the report: no space left on device")
	require.ErrorContains(t, r.WriteBenchstat(full{}), "write benchstat lines: no space left on device")
	r.Rows[0].Value = math.NaN()
	require.ErrorContains(t, r.Write(&bytes.Buffer{}), "NaN")
}

// The schema notices what is not in it.
func TestReportSchema_NoticesMistakes(t *testing.T) {
	good := reportText(t)
	require.NoError(t, validate([]byte(good)))
	for _, c := range [][2]string{{`"status": "measured"`, `"status": "fine"`}, {`"unit": "GFLOPS"`, `"unit": "parsecs"`},
		{`"calls": 1`, `"calls": 1.5`}, {`"case": "one"`, `"name": "one"`}, {`"registers": 64`, `"registers": [64]`},
		{`"registers": 64`, `"registers": null`}, {"\n        1000000,", "\n0,"},
		{`"low":`, `"lower":`}, {`"took_ns": `, `"took_ns": -`},
		{`"schema": "tvmgo-bench/1"`, `"schema": "tvmgo-bench/2"`}, {`"started": "2`, `"started": "x2`}} {
		require.Contains(t, good, c[0])
		require.Error(t, validate([]byte(strings.Replace(good, c[0], c[1], 1))), c[1])
	}
}
