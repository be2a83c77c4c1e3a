//go:build cgo && !runtimeonly

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"tvmgo/bench"
	"tvmgo/internal/atomicfile"
)

// showReport prints and writes the report of --show, compared with that of --baseline.
func (f *benchFlags) showReport(flags *pflag.FlagSet, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		return wrongf("%s: --show measures nothing: leave out the file, or --show", args[0])
	}
	var others []string
	flags.Visit(func(of *pflag.Flag) {
		if !slices.Contains([]string{"show", "only", "baseline", "relevant", "out", "format"}, of.Name) {
			others = append(others, "--"+of.Name)
		}
	})
	if len(others) > 0 {
		return wrongf("--show measures nothing: leave out %s", strings.Join(others, ", "))
	}
	if _, err := f.check(); err != nil {
		return err
	}
	report, err := readReport("show", f.show)
	if err != nil {
		return err
	}
	old, err := readReport("baseline", f.baseline)
	if err != nil {
		return err
	}
	only, err := regexp.Compile(f.only)
	if err != nil {
		return wrongf("--only %s: %w", f.only, err)
	}
	report.Rows = slices.DeleteFunc(report.Rows, func(r *bench.Row) bool {
		return !only.MatchString(r.Suite + "/" + r.Case)
	})
	if len(report.Rows) == 0 {
		return wrongf("--only %s: %s has no such row", f.only, f.show)
	}
	files, err := newReportFiles(f.out)
	if err != nil {
		return err
	}
	if flags.Changed("relevant") {
		report.Config.Relevant = f.relevant
	}
	slower := f.compareWith(old, report, stderr)
	return errors.Join(files.write(report), f.print(stdout, report), slower)
}

// readReport reads a report from the file of a flag; nil if there is none.
func readReport(flag, path string) (*bench.Report, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, wrongf("--%s %s: %w", flag, path, atomicfile.Cause(err))
	}
	defer file.Close()
	r, err := bench.Read(file)
	if err != nil {
		return nil, wrongf("--%s %s: %w", flag, path, err)
	}
	return r, nil
}

// compareWith compares a report with the baseline. The error names the regressions.
func (f *benchFlags) compareWith(old, r *bench.Report, stderr io.Writer) error {
	if old == nil {
		return nil
	}
	slower := r.CompareWith(old)
	r.Baseline.File = f.baseline
	for _, text := range r.Baseline.Warnings {
		fmt.Fprintf(stderr, "tvmgo: warning: --baseline %s: %s\n", f.baseline, text)
	}
	var names []string
	for _, row := range slower {
		names = append(names, row.ID())
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("%s since %s: %s", count(len(names), "regression"), f.baseline, strings.Join(names, ", "))
}
