package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeader_IsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../device_names_gen.h")
	require.NoError(t, err)
	require.Equal(t, string(header()), string(have), "run: go generate ./internal/core/device")
}
