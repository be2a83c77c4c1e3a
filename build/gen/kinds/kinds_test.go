package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestHeader_IsUpToDate(t *testing.T) {
	have := must.Get(os.ReadFile(filepath.Join("../../..", header)))(t)
	require.Equal(t, string(rendered()), string(have), "run: make generators")
}
