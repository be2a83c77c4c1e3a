package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
)

// A C program runs a graph executor of Apache TVM through both ABIs.
func TestGraph_FromC(t *testing.T) { runGraph(t, "graph_test") }

// The same as a model, which 64 threads call at once.
func TestGraphModel_FromC(t *testing.T) { runGraph(t, "graph_model_test") }

func runGraph(t *testing.T, name string) {
	l := newLab(t)
	program := l.compile(t, name, name+".c", append(l.linked(), "-lm")...)
	raw := func(name string) string {
		data, _ := modules.NPY(t, l.path("artifacts", "classic", name+".npy"))
		path := filepath.Join(l.path("home"), name+".bin")
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 4*len(data))
		require.NoError(t, os.WriteFile(path, bytes, 0o644))
		return path
	}
	l.runOK(t, nil, program, l.classic("graph_mlp"), raw("graph_mlp_in0"), raw("graph_mlp_out"))
}
