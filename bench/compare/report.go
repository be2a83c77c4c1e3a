package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the result of a run in its file. Times are in nanoseconds, sizes in bytes.
type report struct {
	Date     string             `json:"date"`
	Machine  machine            `json:"machine"`
	Rounds   int                `json:"rounds"`
	SampleNS int64              `json:"sample_ns"`
	Rows     []reportRow        `json:"rows"`
	Measures map[string]summary `json:"measures"`
}

type reportRow struct {
	ID     string  `json:"id"`
	What   string  `json:"what"`
	Ours   float64 `json:"ours"`
	Base   float64 `json:"base"`
	Value  float64 `json:"value"`
	Target string  `json:"target,omitempty"`
	Met    bool    `json:"met"`
	Note   string  `json:"note,omitempty"`

	row  row
	text string
}

// skipped is the result of a row that was not measured.
const skipped = "skipped"

// newReport compares the results of rows. Rows without results were skipped for a reason.
func newReport(m machine, c config, rows []row, results map[string]summary, allocs float64, reason error) *report {
	r := &report{
		Date: time.Now().Format(time.DateOnly), Machine: m, Rounds: c.rounds,
		SampleNS: c.sample.Nanoseconds(), Measures: results,
	}
	for _, w := range rows {
		if _, measured := results[w.Ours]; !measured {
			r.Rows = append(r.Rows, reportRow{ID: w.ID, What: w.What, Note: fmt.Sprint(reason), row: w, text: skipped})
			continue
		}
		out := w.result(results[w.Ours].Median, results[w.Base].Median)
		if w.ID == boundRow {
			// The runtime itself allocates occasionally: less than one allocation per thousand calls counts as none.
			out.Note = fmt.Sprintf("%.0f allocations", allocs)
			out.Met = out.Met && allocs < 1e-3
		}
		r.Rows = append(r.Rows, out)
	}
	return r
}

// boundRow is the row that also has a target for allocations.
const boundRow = "go-bound"

// result compares the measures of a row.
func (r row) result(ours, base float64) reportRow {
	out := reportRow{ID: r.ID, What: r.What, Ours: ours, Base: base, Target: r.target(), row: r}
	out.Value, out.text, out.Met = r.verdict(ours, base)
	return out
}

// readReport reads the result of an earlier run, and compares it with the present targets of rows. A row that the file
// lacks was not measured; rows that are no longer in the table are dropped.
func readReport(path string, rows []row) (*report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	was := map[string]reportRow{}
	for _, row := range r.Rows {
		was[row.ID] = row
	}
	r.Rows = nil
	for _, w := range rows {
		old, measured := was[w.ID]
		if !measured || old.Ours == 0 { // a row that was skipped has no figures
			r.Rows = append(r.Rows, reportRow{ID: w.ID, What: w.What, Note: old.Note, row: w, text: skipped})
			continue
		}
		out := w.result(old.Ours, old.Base)
		out.Note = old.Note
		if w.ID == boundRow {
			out.Met = out.Met && old.Note == "0 allocations"
		}
		r.Rows = append(r.Rows, out)
	}
	return &r, nil
}

func (r *report) print(w io.Writer, list []knownMiss) {
	m := r.Machine
	fmt.Fprintf(w, "%s, commit %s\n%s, %d cores, governor %s, load %s, Linux %s\n%s, %s\npeer: %s\nmedians of %d "+
		"alternating rounds\n\n", r.Date, m.Commit, m.CPU, m.Cores, m.Governor, m.Load, m.Kernel, m.Go, m.CC,
		m.Peer, r.Rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tours\tbase\tresult\ttarget\t")
	for _, row := range r.Rows {
		s, reason := r.judge(row, list)
		verdict := strings.Join(slices.DeleteFunc([]string{string(s), reason, row.Note},
			func(part string) bool { return part == "" }), "; ")
		ours, base := row.row.show(row.Ours), row.row.show(row.Base)
		if row.text == skipped {
			ours, base = "", ""
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", row.What, ours, base, row.text, row.row.target(), verdict)
	}
	t.Flush()
}

// write writes the report to a folder; the date is the file name.
func (r *report) write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(folder, r.Date+"-cpu.json")
	fmt.Println("\nwritten to", path)
	return os.WriteFile(path, append(b, '\n'), 0o666)
}
