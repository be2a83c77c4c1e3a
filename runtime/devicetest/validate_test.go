package devicetest_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

// TVMGO_VALIDATE is read when the process starts, so the misuse happens in a child process.
func TestValidate(t *testing.T) {
	if os.Getenv("DEVICETEST_VALIDATE") != "" {
		misuse(t)
		return
	}
	run := func(validate string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestValidate$", "-test.v")
		cmd.Env = append(os.Environ(), "DEVICETEST_VALIDATE=1", "TVMGO_VALIDATE="+validate)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	out := run("1")
	require.Regexp(t, `workspace: copy slice to tensor: .*validate: copy to: wrong stream: `+
		`.*the workspace is for stream 0x1010: workspace of lazy:0, 64 bytes at 0x`, out)
	require.Regexp(t, `tvmgo: ValueError: validate: free page-locked memory: freed while in flight: `+
		`.*page-locked memory of lazy:0, 64 bytes at 0x`, out)
	out = run("0")
	require.Contains(t, out, "workspace: <nil>")
	require.NotContains(t, out, "validate")
}

func misuse(t *testing.T) {
	d := newLazy("")
	require.NoError(t, runtime.RegisterDeviceAPI(runtime.DeviceSpec{Type: lazyType, Name: "lazy",
		New: func() (runtime.DeviceAPI, error) { return d, nil }}))
	dev := dlpack.Device{Type: lazyType}
	q := must.Get(runtime.NewStream(dev))(t)
	w := must.Get(runtime.NewWorkspace(dlpack.Int32, []int64{16}, dev, q))(t)
	x := must.Get(runtime.NewTensor(dlpack.Int32, []int64{16}, dev))(t)
	require.NoError(t, w.CopyFromTensor(x, q)) // without a wait
	fmt.Println("workspace:", runtime.CopyFrom(w, make([]int32, 16)))
	p := must.Get(runtime.NewPinnedTensor(dlpack.Int32, []int64{16}, dev))(t)
	require.NoError(t, x.CopyFromTensor(p, q))
	require.NoError(t, p.Close()) // too early: the copy is still enqueued
}
