package gopanic_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/gopanic"
)

func caught(f func()) (p *gopanic.Panic) {
	defer func() { p = gopanic.New(recover()) }()
	f()
	return nil
}

//go:noinline
func culprit(v any) { panic(v) }

func TestPanic_MessageIsOneLine(t *testing.T) {
	for value, want := range map[any]string{
		"boom": "panic: boom", 42: "panic: 42", io.EOF: "panic: EOF",
		"a\nb\r\n\n  c\n": "panic: a; b; c", "": "panic: ",
	} {
		require.Equal(t, want, caught(func() { culprit(value) }).Error())
	}
	joined := errors.Join(io.EOF, io.ErrShortWrite)
	p := caught(func() { culprit(joined) })
	require.Equal(t, "panic: EOF; short write", p.Error())
	require.ErrorIs(t, p, io.ErrShortWrite)
	require.NoError(t, caught(func() { culprit(1) }).Unwrap())
}

func TestPanic_StackBeginsWhereItHappened(t *testing.T) {
	var list []int
	for name, f := range map[string]func(){
		"culprit":      func() { culprit("x") },
		"StackBegins":  func() { _ = list[len(list)+3] },
		"nilStructure": func() { nilStructure(nil) },
	} {
		lines := strings.Split(caught(f).Stack, "\n")
		require.Equal(t, "goroutine [panicking]:", lines[0])
		require.Regexp(t, fmt.Sprintf(`^  File ".*gopanic_test\.go", line \d+, in .*%s`, name), lines[1])
		require.NotContains(t, strings.Join(lines, "\n"), "in runtime.")
	}
}

//go:noinline
func nilStructure(p *struct{ n int }) int { return p.n }

func TestPanic_DeepStacksAreBounded(t *testing.T) {
	var deep func(n int)
	deep = func(n int) {
		if n == 0 {
			culprit("deep")
		}
		deep(n - 1)
	}
	require.Equal(t, 100, strings.Count(caught(func() { deep(5000) }).Stack, "  File "))
}
