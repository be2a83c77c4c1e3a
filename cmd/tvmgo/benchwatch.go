//go:build cgo && !runtimeonly

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tvmgo/bench"
)

// newBenchWatcher reports on a command's standard error: a line for each row if verbose, otherwise a progress bar if it
// is a terminal, or else nothing.
func newBenchWatcher(w io.Writer, verbose bool, announce func(*benchPlan) string) benchWatcher {
	switch {
	case verbose:
		return &benchLines{w: w, announce: announce}
	case isTerminal(w):
		return &benchBar{w: w, announce: announce}
	}
	return noWatcher{}
}

type noWatcher struct{}

func (noWatcher) planned(*benchPlan) {}

func (noWatcher) at(benchPlace) {}

func (noWatcher) finished([]*bench.Row) {}

func (noWatcher) end() {}

// benchLines prints each row when its case has ended.
type benchLines struct {
	w        io.Writer
	announce func(*benchPlan) string
}

func (l *benchLines) planned(p *benchPlan) { fmt.Fprintln(l.w, l.announce(p)) }

func (l *benchLines) at(benchPlace) {}

func (l *benchLines) end() {}

func (l *benchLines) finished(rows []*bench.Row) {
	own := bench.Report{}
	for _, r := range rows {
		copied := *r // its figures follow from all rows
		own.Rows = append(own.Rows, &copied)
	}
	own.Config.Confidence = 0.95
	bench.Evaluate(&own)
	for _, r := range own.Rows {
		fmt.Fprintln(l.w, rowText(r))
	}
}

// rowText describes a row in one line.
func rowText(r *bench.Row) string {
	switch {
	case r.Status == bench.Measured:
		return fmt.Sprintf("%s: %s %s", r.ID(), threeDigits(r.Value), r.Unit)
	case r.Reason != "":
		status := string(r.Status) + ": " // most reasons begin with it
		return r.ID() + ": " + status + strings.TrimPrefix(r.Reason, status)
	}
	return fmt.Sprintf("%s: %s", r.ID(), r.Status)
}

// benchBar is a progress bar of cases on devices.
type benchBar struct {
	w        io.Writer
	announce func(*benchPlan) string
	bar      *progressbar.ProgressBar
	devices  int
	done     int // of cases × devices
}

func (b *benchBar) planned(p *benchPlan) {
	fmt.Fprintln(b.w, b.announce(p))
	b.devices = len(p.Devices)
	b.bar = progressbar.NewOptions(len(p.Cases)*b.devices, progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetWidth(barColumns), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(benchPoll), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetRenderBlankState(true))
}

func (b *benchBar) at(p benchPlace) {
	if b.bar == nil || p.Case == "" {
		return
	}
	text := fmt.Sprintf("%s on %s, %s", p.Case, p.Device, p.Stage)
	part := 0
	if p.Stage == bench.Measuring {
		text += fmt.Sprintf(" %d", p.Round+1)
		part = b.devices * p.Round / max(p.Rounds, 1)
	}
	b.bar.Describe(shortened(text, columnsOf(b.w)-barColumns-barFigures))
	_ = b.bar.Set(b.done + min(part, b.devices-1))
}

func (b *benchBar) finished([]*bench.Row) {
	b.done += b.devices
	if b.bar != nil && b.done < b.bar.GetMax() { // the bar vanishes at the end
		_ = b.bar.Set(b.done)
	}
}

func (b *benchBar) end() {
	if b.bar != nil {
		_ = b.bar.Clear()
	}
}

// barColumns is the width of the bar itself, and barFigures that of the figures beside it: "100% || (999/999)
// [12m34s:12m34s] ".
const barColumns, barFigures = 12, 36

// shortened returns the beginning of a text that fits into a number of columns. A line that wraps is not removed.
func shortened(text string, columns int) string {
	if len(text) <= columns {
		return text
	}
	return text[:max(columns-1, 0)] + "…"
}

// columnsOf returns the width of a terminal, 80 if it is unknown.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 80
}

// planText says what is measured, and for how long.
func planText(p *benchPlan, about time.Duration) string {
	var names []string
	for _, d := range p.Devices {
		names = append(names, d.Name)
	}
	return fmt.Sprintf("measures %s on %s: about %v", count(len(p.Cases), "case"), strings.Join(names, ", "),
		roundedTime(about))
}

// roundedTime rounds a time of a plan: 1m10s.
func roundedTime(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(10 * time.Second)
	}
	return max(d.Round(time.Second), time.Second)
}
