package bench

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

//go:embed report.schema.json
var reportSchema []byte

// ReportSchema returns the JSON Schema (2020-12) of a report.
func ReportSchema() []byte { return bytes.Clone(reportSchema) }

// Write writes a report as JSON.
func (r *Report) Write(w io.Writer) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if _, err := w.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Read reads the JSON of a report. What is not a report is an error, as are a report of a newer version of the schema,
// and one with times that are not possible. Fields that are unknown are ignored.
func Read(r io.Reader) (*Report, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	var report Report
	if err := unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	return &report, nil
}

func unmarshal(data []byte, r *Report) error {
	var top struct {
		Schema *string `json:"schema"`
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("it is empty: give a file that tvmgo bench wrote")
	}
	if err := describe(data, json.Unmarshal(data, &top)); err != nil {
		return err
	}
	name, version, _ := strings.Cut(Schema, "/")
	ours, _ := strconv.Atoi(version)
	switch {
	case top.Schema == nil:
		return fmt.Errorf("it has no \"schema\": give a file of %s that tvmgo bench wrote", Schema)
	case *top.Schema != Schema:
		its, of, _ := strings.Cut(*top.Schema, "/")
		if n, err := strconv.Atoi(of); its == name && err == nil && n > ours {
			return fmt.Errorf("its schema %s is newer than %s: use the version of tvmgo that wrote it", *top.Schema, Schema)
		}
		return fmt.Errorf("its schema is %q, expected %s: give a file that tvmgo bench wrote", *top.Schema, Schema)
	}
	if err := describe(data, json.Unmarshal(data, r)); err != nil {
		return err
	}
	return r.check()
}

// describe says in which way data is not JSON, or which field has another type.
func describe(data []byte, err error) error {
	var syntax *json.SyntaxError
	var field *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(data)):
		return fmt.Errorf("the file is truncated after %d bytes", len(data))
	case errors.As(err, &syntax):
		line := 1 + bytes.Count(data[:syntax.Offset], []byte("\n"))
		return fmt.Errorf("line %d is not JSON: %w", line, err)
	case errors.As(err, &field) && field.Field != "":
		return fmt.Errorf("%s is a JSON %s, expected %s", field.Field, field.Value, field.Type)
	case errors.As(err, &field):
		return fmt.Errorf("it is a JSON %s, expected the object of a report", field.Value)
	}
	return err
}

// check returns an error that names what is not possible in a report.
func (r *Report) check() error {
	if _, err := r.Config.withDefaults(); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if r.Took < 0 {
		return fmt.Errorf("took_ns is %d: a duration is not negative", r.Took)
	}
	seen := map[string]bool{}
	for i, row := range r.Rows {
		if row == nil {
			return fmt.Errorf("row %d is null", i)
		}
		if err := row.check(); err != nil {
			return fmt.Errorf("row %d (%s): %w", i, row.ID(), err)
		}
		if seen[row.ID()] {
			return fmt.Errorf("row %d: there are two rows %s", i, row.ID())
		}
		seen[row.ID()] = true
	}
	return nil
}

func (r *Row) check() error {
	n := len(r.Samples)
	switch {
	case r.Suite == "" || r.Case == "" || r.Device == "":
		return errors.New("suite, case or device is missing")
	case !slices.Contains([]Status{Measured, NotMeasured, Wrong, Failed, Interrupted}, r.Status):
		return fmt.Errorf("unknown status %q", r.Status)
	case !r.Figure.valid():
		return fmt.Errorf("unknown figure %q", r.Figure)
	case !(r.Amount.Ops >= 0 && r.Amount.Bytes >= 0):
		return fmt.Errorf("an amount is negative: %v operations, %v bytes", r.Amount.Ops, r.Amount.Bytes)
	case r.Status == Measured && n == 0:
		return errors.New("it was measured, but has no samples")
	case (r.Status == Wrong || r.Status == NotMeasured) && n > 0:
		return fmt.Errorf("status %q, but it has samples", r.Status)
	case n > 0 && r.Clock != ClockDevice && r.Clock != ClockWall:
		return fmt.Errorf("unknown clock %q", r.Clock)
	case n > 0 && r.Calls < 1:
		return fmt.Errorf("%d calls of a sample, expected at least 1", r.Calls)
	case len(r.Wall) != 0 && len(r.Wall) != n:
		return fmt.Errorf("%d samples, but %d wall times", n, len(r.Wall))
	case n > 0 && r.Clock == ClockDevice && len(r.Wall) == 0:
		return fmt.Errorf("times of a %s without wall_ns", ClockDevice)
	case len(r.Rounds) != 0 && len(r.Rounds) != n:
		return fmt.Errorf("%d samples, but %d rounds", n, len(r.Rounds))
	}
	for i, t := range slices.Concat(r.Samples, r.Wall) {
		if !(t > 0) || math.IsInf(t, 0) {
			return fmt.Errorf("time %d is %v ns: a time is positive", i, t)
		}
	}
	for i, round := range r.Rounds {
		if round < 0 || i > 0 && round <= r.Rounds[i-1] {
			return fmt.Errorf("rounds do not ascend from 0: %d", round)
		}
	}
	return nil
}
