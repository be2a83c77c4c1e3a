//go:build cgo && !runtimeonly

package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tvmgo/bench"
	"tvmgo/bench/page"
	"tvmgo/bench/suite"
	"tvmgo/cmd/tvmgo/internal/outfile"
	"tvmgo/internal/nearest"
)

// reportFormat is a form of a report.
type reportFormat struct {
	name  string // the extension of a file, without the dot
	write func(w io.Writer, r *bench.Report) error
}

// reportFormats are the forms of a report. An extension with a dot in it comes before its end.
var reportFormats = []reportFormat{
	{"txt", func(w io.Writer, r *bench.Report) error { return page.Text(w, r, page.TextOptions{}) }},
	{"md", page.Markdown},
	{"clpeak.json", suite.WriteClpeak},
	{"json", func(w io.Writer, r *bench.Report) error { return r.Write(w) }},
	{"html", page.HTML},
	{"svg", page.SVG},
	{"png", page.PNG},
	{"bench", func(w io.Writer, r *bench.Report) error { return r.WriteBenchstat(w) }},
}

func formatNames() []string {
	var names []string
	for _, f := range reportFormats {
		names = append(names, f.name)
	}
	return names
}

// formatOf returns the format of a file.
func formatOf(name string) (*reportFormat, error) {
	base := strings.ToLower(filepath.Base(name))
	for i, f := range reportFormats {
		if strings.HasSuffix(base, "."+f.name) {
			return &reportFormats[i], nil
		}
	}
	extension := strings.TrimPrefix(filepath.Ext(base), ".")
	known := strings.Join(formatNames(), ", ")
	switch near := nearest.Within(extension, formatNames(), 3); {
	case extension == "":
		return nil, fmt.Errorf("it has no extension, which names the format: use one of %s", known)
	case near != "":
		return nil, fmt.Errorf("unknown format %q: did you mean %q? There are %s", extension, near, known)
	}
	return nil, fmt.Errorf("unknown format %q: use one of %s", extension, known)
}

// reportFile is a file for a report.
type reportFile struct {
	out    *outfile.Files // of this file alone: a report that cannot be written is no reason to lose the others
	format *reportFormat
}

// reportFiles are the files of --out.
type reportFiles []reportFile

// newReportFiles checks the files of --out, except "-", which is standard output.
func newReportFiles(names []string) (list reportFiles, err error) {
	var all []string
	for _, name := range names {
		if name == "-" {
			continue
		}
		format, err := formatOf(name)
		if err != nil {
			return nil, wrongf("--out %s: %w", name, err)
		}
		all = append(all, name)
		list = append(list, reportFile{format: format})
	}
	if _, err := outfile.New(all); err != nil {
		return nil, err
	}
	for i, name := range all {
		if list[i].out, err = outfile.New([]string{name}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// write writes each file, also if another one fails.
func (l reportFiles) write(r *bench.Report) error {
	var errs []error
	for _, f := range l {
		errs = append(errs, f.out.WriteEach(func(_ int, w io.Writer) error { return f.format.write(w, r) }))
	}
	return errors.Join(errs...)
}

// print writes the report to standard output.
func (f *benchFlags) print(w io.Writer, r *bench.Report) error {
	format, err := formatOf("." + f.format)
	if err != nil {
		return err
	}
	if err := format.write(w, r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
