package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/inspect"
)

// inspect --instructions lists the code of whole models, as text and as JSON; without it, there is none.
func TestInspect_Instructions(t *testing.T) {
	for file, want := range map[string]string{
		"modern/relax_mlp.so":  "          51  ret   %30\n",
		"classic/graph_mlp.so": "           7  tvmgen_default_fused_nn_softmax(6): float32[4,10] in storage 3 on cpu\n",
	} {
		path := filepath.Join(artifacts, file)
		status, stdout, stderr := cli("inspect", path)
		require.Zero(t, status, stderr)
		require.NotContains(t, stdout, want)
		status, stdout, stderr = cli("inspect", "--instructions", path)
		require.Zero(t, status, stderr)
		require.Contains(t, stdout, want)
		status, stdout, stderr = cli("inspect", "--instructions", "--json", path)
		require.Zero(t, status, stderr)
		var report inspect.Report
		require.NoError(t, json.Unmarshal([]byte(stdout), &report))
		if m := report.Blob.Modules[0]; m.Graph != nil {
			require.Len(t, m.Graph.Code, 8)
		} else {
			require.Len(t, m.Program.Functions[0].Code, 52)
			require.Len(t, m.Program.Constants.List, 8)
		}
	}
}
