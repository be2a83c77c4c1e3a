package main_test

import (
	"strings"
	"testing"
)

// Temporary objects leave nothing behind: thousands of threads, in C and in Go, and ten thousand modules of both
// generations through both ABIs.
func TestLife(t *testing.T) {
	l := newLab(t)
	program := l.compile(t, "life_test", "life_test.c", l.linked()...)
	modern := []string{l.modern("addone_llvm"), l.modern("multi_llvm"), l.modern("multi_c"), l.modern("multi_c_now")}
	classic := []string{l.classic("addone_llvm"), l.classic("multi_llvm")}
	const private = "TVMGO_PRIVATE_LOAD=1"
	for _, c := range []struct {
		name, what, env string
		files           []string
	}{
		{"threads modern", "threads", "", modern[1:2]},
		{"threads classic", "threads", "", classic[1:2]},
		{"cycles modern", "cycles", "", modern},
		{"cycles modern private", "cycles", private, modern},
		{"cycles classic", "cycles", "", classic},
		{"cycles classic private", "cycles", private, classic},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := append(strings.Fields(c.env), "TMPDIR="+t.TempDir())
			l.runOK(t, env, append([]string{program, c.what, l.carrier()}, c.files...)...)
		})
	}
}
