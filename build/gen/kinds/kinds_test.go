package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/build/gen/internal/output"
)

func TestHeader_IsUpToDate(t *testing.T) {
	stale, err := output.Stale("../../..", rendered)
	require.NoError(t, err)
	require.Empty(t, stale, "run: make generators")
}
