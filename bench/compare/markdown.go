package main

import (
	"fmt"
	"io"
	"strings"
)

// label is the name of a row in bench/README.md. A dash marks a variant of the row above.
func (r row) label() string {
	if variant, is := strings.CutPrefix(r.What, "  "); is {
		return "– " + variant
	}
	return r.What
}

// markdown prints the machine and the table of the rows, for bench/README.md.
func (r *report) markdown(w io.Writer, list []knownMiss) {
	m := r.Machine
	load, _, _ := strings.Cut(m.Load, " ")
	text := fmt.Sprintf("**%s, %d cores, %s.** Commit %s, governor %s, Linux %s, %s, %s, peer %s; medians of %d "+
		"rounds, load %s.", m.CPU, m.Cores, r.Date, m.Commit, m.Governor, m.Kernel, m.Go, m.CC, m.Peer, r.Rounds, load)
	fmt.Fprintf(w, "%s\n\n| What | Ours | Base | Result | Target | |\n|---|---|---|---|---|---|\n", wrap(text, 120))
	for _, row := range r.Rows {
		s, reason := r.judge(row, list)
		verdict := string(s)
		switch {
		case row.text == skipped:
			verdict = string(unmeasured)
		case s == missed || s == missedKnown:
			verdict = "**missed**"
		}
		for _, more := range []string{reason, row.Note} {
			if more != "" {
				verdict = strings.TrimPrefix(verdict+"; "+more, "; ")
			}
		}
		ours, base, result := row.row.show(row.Ours), row.row.show(row.Base), row.text
		switch {
		case row.text == skipped:
			ours, base, result = "", "", ""
		case row.row.Relation == absolute:
			base, result = "", ""
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", row.row.label(), ours, base, result, row.row.target(), verdict)
	}
}

// wrap breaks a text between words into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
