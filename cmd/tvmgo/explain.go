//go:build cgo && !runtimeonly

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tvmgo/codegen"
	"tvmgo/codegen/explain"
	"tvmgo/dlpack"
)

// explainFlags holds the flags of build for reports about kernels.
type explainFlags struct {
	form  string // "", "table" or "json"
	sizes string // "n=1024,m=64"
}

var explainForms = []string{"table", "json"}

func (f *explainFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.form, "explain", "",
		"report figures of each kernel: occupancy, sectors, bank conflicts, bytes, operations: table (the default) or json")
	flags.Lookup("explain").NoOptDefVal = explainForms[0]
	flags.StringVar(&f.sizes, "sizes", "", "values of open sizes for --explain: n=1024,m=64")
	completeFlag(cmd, "explain", func([]string) []string { return explainForms })
}

// check rejects invalid command lines.
func (f *explainFlags) check() error {
	if f.form != "" && !slices.Contains(explainForms, f.form) {
		return fmt.Errorf("--explain=%s: want one of %s", f.form, strings.Join(explainForms, ", "))
	}
	if f.form == "" && f.sizes != "" {
		return errors.New("--sizes is for --explain: give both")
	}
	_, err := f.values()
	return err
}

// values returns the values of --sizes by their names.
func (f *explainFlags) values() (map[string]int64, error) {
	if f.sizes == "" {
		return nil, nil
	}
	all := map[string]int64{}
	for _, part := range strings.Split(f.sizes, ",") {
		name, text, found := strings.Cut(part, "=")
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case !found || name == "" || err != nil:
			return nil, fmt.Errorf("--sizes %s: want names with integers, as in n=1024,m=64", f.sizes)
		case n < 0:
			return nil, fmt.Errorf("--sizes %s: %s is negative", f.sizes, name)
		}
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("--sizes %s: %s occurs twice", f.sizes, name)
		}
		all[name] = n
	}
	return all, nil
}

// write writes the reports of the variants for devices: the others have no kernels. As JSON, several reports are a
// list.
func (f *explainFlags) write(cmd *cobra.Command, variants []codegen.Variant) error {
	sizes, err := f.values()
	if err != nil {
		return err
	}
	var reports []*explain.Report
	for _, v := range variants {
		if len(variants) > 1 && v.Target.DeviceType() == dlpack.CPU {
			continue
		}
		err := foreign(cmd.Context(), func() error {
			r, err := codegen.Explain(v.Program, v.Target, codegen.WithSizes(sizes))
			reports = append(reports, r)
			return err
		})
		if err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	switch {
	case len(reports) == 0:
		return errors.New("--explain: all targets are CPUs, whose code has no kernels: give the target of a device")
	case f.form == "json" && len(reports) == 1:
		return writeJSON(out, reports[0])
	case f.form == "json":
		return writeJSON(out, reports)
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := r.WriteText(out); err != nil {
			return err
		}
	}
	return nil
}
