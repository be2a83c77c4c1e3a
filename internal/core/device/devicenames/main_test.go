package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
)

func TestHeader_IsUpToDate(t *testing.T) {
	have := must.Get(os.ReadFile("../device_names_gen.h"))(t)
	require.Equal(t, string(header()), string(have), "run: go generate ./internal/core/device")
}
