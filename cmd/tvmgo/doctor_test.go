package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// doctor runs the command in a process of its own and returns its findings, as JSON has them; the text must have the same.
func doctor(t *testing.T, env ...string) map[string]finding {
	t.Helper()
	status, stdout, stderr := builtWith(t, ".", env, "doctor", "--json")
	require.Zero(t, status, stderr)
	var report struct {
		APIs []finding `json:"apis"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))

	status, text, stderr := builtWith(t, ".", env, "doctor")
	require.Zero(t, status, stderr)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, lines, len(report.APIs), text)
	found := map[string]finding{}
	for i, f := range report.APIs {
		require.True(t, strings.HasPrefix(lines[i], f.API+" "), lines[i])
		require.Contains(t, lines[i], strings.Join(strings.Fields(f.Verdict), " "))
		require.Equal(t, f.Built && !f.Usable, strings.Contains(lines[i], " not usable: "), lines[i])
		found[f.API] = f
	}
	return found
}

func TestDoctor(t *testing.T) {
	found := doctor(t)
	require.Regexp(t, `^usable: cpu:0, [1-9][0-9]* threads$`, found["cpu"].Verdict)
	require.True(t, found["cpu"].Usable)
	require.Equal(t, finding{API: "vulkan", Verdict: "not part of this build"}, found["vulkan"])
	for _, api := range []string{"cuda", "opencl"} {
		require.True(t, found[api].Built)
		require.NotEmpty(t, found[api].Verdict)
	}
	require.NotContains(t, found, "cuda_host", "it is memory of cuda")
}
