package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeader_IsUpToDate(t *testing.T) {
	have, err := os.ReadFile(filepath.Join("../../..", header))
	require.NoError(t, err)
	require.Equal(t, string(rendered()), string(have), "run: make generators")
}
