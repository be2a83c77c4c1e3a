package bench

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// WriteBenchstat writes the samples in the format of Go benchmarks, which golang.org/x/perf/cmd/benchstat reads: a line
// for each sample, with ns/op and the rate. Lines with the configuration have the system, the CPU, the suite, the
// device and the clock, so that benchstat compares only what is comparable.
func (r *Report) WriteBenchstat(w io.Writer) error {
	var out bytes.Buffer
	system, _, _ := strings.Cut(r.Machine.OS, " ")
	goos, goarch, _ := strings.Cut(system, "/")
	configuration := func(key, value string) {
		if value = strings.Join(strings.Fields(value), " "); value != "" {
			fmt.Fprintf(&out, "%s: %s\n", key, value)
		}
	}
	configuration("goos", goos)
	configuration("goarch", goarch)
	configuration("cpu", r.Machine.CPU)
	out.WriteString("Unit B/s better=higher\nUnit flop/s better=higher\nUnit op/s better=higher\n")
	titles := map[string]string{}
	for _, d := range r.Devices {
		titles[d.Name] = d.Name + " " + d.Title
	}
	last := ""
	for _, row := range r.Rows {
		if !row.measured() {
			continue
		}
		if block := row.Suite + "\n" + row.Device + "\n" + row.Clock; block != last {
			last = block
			configuration("pkg", "tvmgo/bench/"+word(row.Suite))
			configuration("device", titles[row.Device])
			configuration("clock", row.Clock)
		}
		name := "Benchmark" + capital(word(row.Case)) + "/device=" + word(row.Device)
		if row.Variant != "" {
			name += "/by=" + word(row.Variant)
		}
		for _, ns := range row.Samples {
			fmt.Fprintf(&out, "%s %d %s ns/op", name, row.Calls, decimal(ns))
			if rate := row.Figure.Of(row.Amount, ns) * 1e9; row.Figure.Rate() {
				fmt.Fprintf(&out, " %s %s", decimal(rate), benchstatUnits[row.Figure])
			}
			out.WriteByte('\n')
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write benchstat lines: %w", err)
	}
	return nil
}

var benchstatUnits = map[Figure]string{Flops: "flop/s", IntOps: "op/s", Bandwidth: "B/s"}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// word replaces what separates the fields of a line.
func word(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) || unicode.IsControl(c) {
			return '_'
		}
		return c
	}, s)
}

// capital makes the first letter a capital one: what follows "Benchmark" is no small letter.
func capital(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
