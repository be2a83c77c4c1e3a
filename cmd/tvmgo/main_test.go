package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A bug of this program is also reported in one line.
func TestExecute_Panic(t *testing.T) {
	t.Setenv("GOTRACEBACK", "")
	var errs strings.Builder
	status := execute(context.Background(), []string{"version"}, panics{}, &errs)
	require.Equal(t, 1, status)
	require.Equal(t, "tvmgo: internal error: no space: report it, with the output under GOTRACEBACK=all\n",
		errs.String())
	t.Setenv("GOTRACEBACK", "all")
	require.PanicsWithValue(t, "no space", func() {
		execute(context.Background(), []string{"version"}, panics{},
			io.Discard)
	})
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("no space") }
