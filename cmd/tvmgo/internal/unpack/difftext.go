package unpack

import (
	"fmt"
	"io"
	"strings"

	"tvmgo/internal/inspect"
)

// WriteText writes the comparison as text. A line for each difference begins with "-" if only a has it, with "+" if
// only b has it, and with "~" if both have it and differ; a difference of texts follows line by line.
func (d *Comparison) WriteText(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "a: %s\nb: %s\n", inspect.Shown(d.A), inspect.Shown(d.B))
	for i := range d.Differences {
		d.Differences[i].write(&text)
	}
	for _, problem := range d.DamageA {
		fmt.Fprintf(&text, "PROBLEM of a: %s\n", inspect.Shown(problem))
	}
	for _, problem := range d.DamageB {
		fmt.Fprintf(&text, "PROBLEM of b: %s\n", inspect.Shown(problem))
	}
	if d.Same {
		text.WriteString("same\n")
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (diff *Difference) write(text *strings.Builder) {
	what := diff.What
	if diff.Name != "" {
		what += " " + inspect.Shown(diff.Name)
	}
	switch a, b := diff.ModuleA, diff.ModuleB; {
	case a != nil && b != nil && *a != *b:
		what = fmt.Sprintf("[%d -> %d] %s: %s", *a, *b, inspect.Shown(diff.Kind), what)
	case a != nil:
		what = fmt.Sprintf("[%d] %s: %s", *a, inspect.Shown(diff.Kind), what)
	case b != nil:
		what = fmt.Sprintf("[%d] %s: %s", *b, inspect.Shown(diff.Kind), what)
	}
	switch {
	case diff.B == nil && diff.A == nil:
		fmt.Fprintf(text, "~ %s\n", what)
	case diff.B == nil:
		fmt.Fprintf(text, "- %s%s\n", what, after(*diff.A))
	case diff.A == nil:
		fmt.Fprintf(text, "+ %s%s\n", what, after(*diff.B))
	case diff.Diff == "":
		fmt.Fprintf(text, "~ %s: %s -> %s\n", what, inspect.Shown(*diff.A), inspect.Shown(*diff.B))
	default:
		fmt.Fprintf(text, "~ %s:\n%s", what, diff.Diff)
		if !strings.HasSuffix(diff.Diff, "\n") {
			text.WriteByte('\n')
		}
	}
}

func after(value string) string {
	if value == "" {
		return ""
	}
	return ": " + inspect.Shown(value)
}
