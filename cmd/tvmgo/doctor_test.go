//go:build cgo

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// doctor runs the command in a separate process and returns the findings of its JSON; the text must contain the same.
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
	for _, api := range []string{"cuda", "opencl", "vulkan"} {
		require.True(t, found[api].Built)
		require.NotEmpty(t, found[api].Verdict)
	}
	require.NotContains(t, found, "cuda_host", "it is memory of cuda")
	if f := found["opencl"]; f.Usable {
		require.Contains(t, f.Verdict, "; opened "+f.Library+", platform "+strings.Join(f.Platforms, ", platform "))
	}
}

// Vulkan needs no build tag: with a driver it is usable; without, the line says what is missing.
func TestDoctor_Vulkan(t *testing.T) {
	f := doctor(t)["vulkan"]
	if !f.Usable {
		require.Empty(t, os.Getenv("CI"), f.Verdict)
		t.Skip("there is no Vulkan device: ", f.Verdict)
	}
	require.Contains(t, f.Verdict, "usable: vulkan:0 ")
	require.Contains(t, f.Verdict, "; opened "+f.Library+", Vulkan "+f.Version+": ")
	require.Contains(t, f.Verdict, "data in memory of type ")
	require.Contains(t, f.Library, "libvulkan.so")

	f = doctor(t, "TVMGO_VULKAN_LIBRARY=/no/such/libvulkan.so.1")["vulkan"]
	require.False(t, f.Usable)
	require.Contains(t, f.Verdict, "Vulkan is not usable: /no/such/libvulkan.so.1")
	require.Contains(t, f.Verdict, "install the Vulkan loader")

	f = doctor(t, "VK_DRIVER_FILES=/no/such.json", "VK_ICD_FILENAMES=/no/such.json")["vulkan"]
	require.False(t, f.Usable)
	require.Contains(t, f.Verdict, "finds no Vulkan driver: open /no/such.json: no such file")
}
