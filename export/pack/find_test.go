package pack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/export/pack"
	"tvmgo/internal/testing/must"
)

// A signature may follow other comments, and have several lines.
func TestFindSignature(t *testing.T) {
	for source, want := range map[string]string{
		"// add(float32[n])\n// launch blockIdx.x=n\nkernel void add() {}":            "add(float32[n]) launch blockIdx.x=n",
		"\n// Copyright (C) somebody.\n//\n// add(int32)\n\n// Adds.\n#include <x>\n": "add(int32)",
		"#version 450\n// add(int32)":                                                 "add(int32)",
		"// Adds (slowly), as launch x.\n//\n// add(int32)\n":                         "add(int32)",
		"// Adds.\nvoid add() {}\n// sub(int32)\n":                                    "",
		"": "",
	} {
		sig := must.Get(pack.FindSignature([]byte(source)))(t)
		if want == "" {
			require.Nil(t, sig, source)
			continue
		}
		require.Equal(t, want, sig.String())
	}
	_, err := pack.FindSignature([]byte("// add(flaot32[n]) launch blockIdx.x=n\n"))
	var wrong *pack.SignatureError
	require.ErrorAs(t, err, &wrong)
	require.Nil(t, must.Get(pack.FindSignature([]byte("// Adds (slowly).\n")))(t))
}
