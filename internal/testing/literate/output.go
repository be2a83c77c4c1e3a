package literate

import (
	"regexp"
	"strings"
)

// matches reports whether a text is as expected. In the expected text, … stands for any text within a line, or, alone
// on a line, for any lines. Spaces at the ends of lines are ignored.
func matches(want, got string) bool {
	want, got = trimLines(want), trimLines(got)
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	lines := strings.Split(want, "\n")
	for i, line := range lines {
		end := "\n"
		if i == len(lines)-1 {
			end = ""
		}
		if strings.TrimSpace(line) == "…" {
			if end == "" {
				pattern.WriteString(`(?s:.*)`)
			} else {
				pattern.WriteString(`(?s:.*\n)?`)
			}
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + end)
	}
	return regexp.MustCompile(pattern.String() + `\z`).MatchString(got)
}

func trimLines(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n "), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// missing returns the first expected line that a program did not print after the previous ones; empty if there is none.
func missing(wants []string, output string) string {
	lines := strings.Split(output, "\n")
	for _, want := range wants {
		found := false
		for len(lines) > 0 && !found {
			found = matches(want, lines[0])
			lines = lines[1:]
		}
		if !found {
			return want
		}
	}
	return ""
}
