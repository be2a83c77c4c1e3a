package target_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/target"
)

// TestNew_Forms makes one target from every form that New accepts.
func TestNew_Forms(t *testing.T) {
	want := must.Get(target.New(`{"kind":"cuda","arch":"sm_90","libs":["cudnn","cublas"],"model":"h100"}`))(t)
	for _, x := range []any{
		"cuda -arch=sm_90 -libs=cudnn,cublas -model=h100",
		"cuda --arch=sm_90  -libs cudnn,cublas   -model 'h100'",
		[]byte(`{"id":"cuda","arch":"sm_90","libs":"cudnn,cublas","model":"h100"}`),
		map[string]any{"kind": "cuda", "arch": "sm_90", "libs": []string{"cudnn", "cublas"}, "model": "h100",
			"max_num_threads": 1024.0},
		want.JSON(), want.String(), want, want.Export(),
	} {
		got, err := target.New(x)
		require.NoError(t, err, "%v", x)
		require.True(t, want.Equal(got), "%v\n%s\n%s", x, want.JSON(), got.JSON())
		require.Equal(t, want.Hash(), got.Hash())
	}
}

// TestNew_TagWithOptions tests command lines whose first word is a tag, whether it looks like one or not.
func TestNew_TagWithOptions(t *testing.T) {
	require.NoError(t, target.RegisterTag("board-of-mine", map[string]any{"kind": "opencl", "device": "mali"}))
	for text, tag := range map[string]string{"nvidia/h100 -libs=cublas": "nvidia/nvidia-h100",
		"board-of-mine -libs=cublas": "board-of-mine"} {
		got := must.Get(target.New(text))(t)
		require.Equal(t, tag, got.Tag())
		require.Equal(t, []string{"cublas"}, got.Libs())
	}
	require.ErrorContains(t, must.Fail(target.New("board-of-mime -libs=cublas")), `did you mean "board-of-mine"?`)
}
