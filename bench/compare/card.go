package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
)

// cardResult is the part of a result of bench/card that is printed.
type cardResult struct {
	Device  string    `json:"device"`
	Driver  string    `json:"driver_version"`
	Rounds  int       `json:"rounds"`
	Quick   bool      `json:"quick"`
	Results []cardRow `json:"rows"`
}

type cardRow struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Ours     float64  `json:"ours"`
	Raw      *float64 `json:"raw"`
	Relation string   `json:"relation"`
	Target   *float64 `json:"target"`
	Met      *bool    `json:"met"`
}

// printCard prints the newest result of a GPU in a folder (<date>-cuda.json), or a message that there is none.
func printCard(w io.Writer, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*-cuda.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		_, err := fmt.Fprintln(w, "\nCUDA on a card: not measured (make gpu-bundle, run.sh on a machine with one)")
		return err
	}
	file := slices.Max(files) // file names begin with the date
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r cardResult
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if r.Quick || len(r.Results) == 0 {
		return fmt.Errorf("%s: no result of a whole run: run bin/cuda_card without --quick", file)
	}
	fmt.Fprintf(w, "\n%s, the driver of CUDA %s, medians of %d alternating rounds (%s)\n\n", r.Device, r.Driver,
		r.Rounds, file)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tours\tthe driver\ttarget\t")
	for _, row := range r.Results {
		raw, target, verdict := "", "", ""
		if row.Raw != nil {
			raw = fmt.Sprintf("%.4g %s", *row.Raw, row.Unit)
		}
		if row.Target != nil {
			target = fmt.Sprintf("%s %g", row.Relation, *row.Target)
		}
		if row.Met != nil {
			verdict = map[bool]string{true: "met", false: "MISSED"}[*row.Met]
		}
		fmt.Fprintf(t, "%s\t%.4g %s\t%s\t%s\t%s\n", row.Name, row.Ours, row.Unit, raw, target, verdict)
	}
	return t.Flush()
}
