package abi

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
)

// modernOnly are snippets for features that TVM v0.20 does not have.
var modernOnly = []string{"text", "bytes", "call_linked"}

// Each snippet compiles with the snippets that it lists, and no others.
func TestSnippets_ListTheirNeeds(t *testing.T) {
	for _, classic := range []bool{false, true} {
		headers := "#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
		if !classic {
			headers += "#include <tvm/ffi/extra/c_env_api.h>\n"
		}
		headers += "#include <tvm/runtime/c_backend_api.h>\n"
		for _, name := range slices.Sorted(maps.Keys(All)) {
			if classic && slices.Contains(modernOnly, name) {
				continue
			}
			s := Set{Snippets: All, Classic: classic}
			s.Add(name)
			require.Equal(t, name, s.Pieces[len(s.Pieces)-1].Name)
			cmd := exec.Command("gcc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror",
				"-I../../include", "-xc", "-")
			cmd.Stdin = strings.NewReader(headers + s.Alone())
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s, classic=%v: %s", name, classic, out)
		}
	}
}

func TestSnippets_NamesAreThoseOfDLPack(t *testing.T) {
	s := Set{Snippets: All}
	s.Add("device_text", "type_text")
	code := s.Alone()
	for _, d := range dlpack.DeviceTypes() {
		require.Contains(t, code, fmt.Sprintf("[%d] = %q", d.Type, d.Name))
	}
	for _, name := range []string{`[0] = "int"`, `[4] = "bfloat"`, `[6] = "bool"`, `[10] = "float8_e4m3fn"`,
		`[17] = "float4_e2m1fn"`} {
		require.Contains(t, code, name)
	}
}

func TestSet_InsteadAndOnce(t *testing.T) {
	s := Set{Snippets: All, Instead: func(name string) (string, bool) { return "mine\n", name == "raise" }}
	s.Add("count", "count", "int")
	s.AddText("own", "first\n")
	s.AddText("own", "second\n")
	var names []string
	for _, p := range s.Pieces {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"raise", "count", "parameter", "convention", "kind", "expected", "int", "own"}, names)
	require.Equal(t, "mine\n", s.Pieces[0].Alone())
	require.Equal(t, "first\n", s.Pieces[len(s.Pieces)-1].Alone())
	require.Panics(t, func() { s.Add("no such snippet") })
}

func TestConstant_IsALiteralInLines(t *testing.T) {
	content := strings.Repeat("\x00?\"\\ü ", 40)
	code := Constant("f", "text", content)
	for line := range bytes.Lines([]byte(code)) {
		require.LessOrEqual(t, len(line), 130)
	}
	require.NotContains(t, code, "??")
	require.Equal(t, strings.Count(content, "\x00"), strings.Count(code, `\000`))
}
