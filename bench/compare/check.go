package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// againFactor is how many times as many rounds a row gets when it is measured again because it missed its target.
const againFactor = 3

// tooBusy is the load of a machine above which its figures are doubtful.
const tooBusy = 1.5

// status is what a check says of a row.
type status string

const (
	recorded    status = "" // the row has no target
	met         status = "met"
	missed      status = "MISSED"
	missedKnown status = "missed, known"
	metKnown    status = "met, though listed as missed"
	unmeasured  status = "not measured"
)

// judge returns the status of a row, and the reason of a known miss. The list is that of known misses.
func (r *report) judge(row reportRow, list []knownMiss) (status, string) {
	reason, listed := knownReason(list, row.ID, r.Machine.CPU)
	switch {
	case row.row.Relation == record:
		return recorded, ""
	case row.text == skipped:
		return unmeasured, ""
	case row.Met && listed:
		return metKnown, ""
	case row.Met:
		return met, ""
	case listed:
		return missedKnown, reason
	default:
		return missed, ""
	}
}

// with returns the rows that have a status.
func (r *report) with(want status, list []knownMiss) (rows []row) {
	for _, row := range r.Rows {
		if s, _ := r.judge(row, list); s == want {
			rows = append(rows, row.row)
		}
	}
	return rows
}

// measureFunc measures rows in a number of rounds.
type measureFunc func(rows []row, rounds int) (*report, error)

// measureAgain measures the rows that missed with more rounds, so that another program that disturbed a row does not
// decide. It returns the new report of them, or nil if no row missed.
func (r *report) measureAgain(list []knownMiss, measure measureFunc) (*report, error) {
	again := r.with(missed, list)
	if len(again) == 0 {
		return nil, nil
	}
	return measure(again, againFactor*r.Rounds)
}

// replace puts the rows of a later report in place of those that they measure again. Their note has the first result.
func (r *report) replace(later *report) {
	for _, now := range later.Rows {
		for i, before := range r.Rows {
			if before.ID != now.ID {
				continue
			}
			now.Note = strings.TrimPrefix(now.Note+"; measured again, "+before.text+" at first", "; ")
			r.Rows[i] = now
			for _, m := range []string{now.row.Ours, now.row.Base} {
				r.Measures[m] = later.Measures[m]
			}
		}
	}
}

// errTargets is the error of a check in which a row misses its target.
var errTargets = errors.New("targets are missed")

// conclude prints what became of the targets. Its error names the rows that missed, or were not measured.
func (r *report) conclude(w io.Writer, list []knownMiss) error {
	ids := func(s status) (ids []string) {
		for _, row := range r.with(s, list) {
			ids = append(ids, row.ID)
		}
		return ids
	}
	fmt.Fprintf(w, "\n%d met, %d missed, %d missed as known on this machine (%s), %d not measured\n", len(ids(met))+
		len(ids(metKnown)), len(ids(missed)), len(ids(missedKnown)), r.Machine.CPU, len(ids(unmeasured)))
	if load, busy := r.Machine.busy(); busy {
		fmt.Fprintf(w, "warning: the load was %.2f at the start: above %g, figures are doubtful\n", load, tooBusy)
	}
	if now := ids(metKnown); len(now) > 0 {
		fmt.Fprintf(w, "met, but listed in bench/compare/known.go: %s\n", strings.Join(now, ", "))
	}
	var wrong []string
	for _, s := range []status{missed, unmeasured} {
		if now := ids(s); len(now) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %s", strings.ToLower(string(s)), strings.Join(now, ", ")))
		}
	}
	if wrong != nil {
		return fmt.Errorf("%w: %s", errTargets, strings.Join(wrong, "; "))
	}
	return nil
}

// busy returns the load of the machine in the minute before the run, and whether it was too high.
func (m machine) busy() (load float64, is bool) {
	first, _, _ := strings.Cut(m.Load, " ")
	load, err := strconv.ParseFloat(first, 64)
	return load, err == nil && load > tooBusy
}
