package literate

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	include = regexp.MustCompile(`(?m)^#(include|define)\b.*$`)
	prints  = regexp.MustCompile(`(?m)^.*\b(printf|puts|cout)\b.*; */[/*] *(.*?)(?: *\*/)?$`)
)

// nativeCode makes a C or C++ file from the parts of a section: their code is the body of main, except for directives.
func nativeCode(path string, blocks []Block) (code string, wants []string) {
	var head, body strings.Builder
	for _, b := range blocks {
		for i, line := range strings.Split(b.Text, "\n") {
			if include.MatchString(line) {
				fmt.Fprintf(&head, "#line %d \"%s\"\n%s\n", b.Line+i, path, line)
			}
		}
		fmt.Fprintf(&body, "#line %d \"%s\"\n%s", b.Line, path, include.ReplaceAllString(b.Text, ""))
		for _, m := range prints.FindAllStringSubmatch(b.Text, -1) {
			wants = append(wants, m[2])
		}
	}
	return head.String() + "int main(void) {\n" + body.String() + "return 0;\n}\n", wants
}
