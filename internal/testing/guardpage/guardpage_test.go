package guardpage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"tvmgo/dlpack"
	"tvmgo/internal/testing/must"
)

func TestTensor(t *testing.T) {
	for _, side := range Sides {
		for _, n := range []int{0, 1, 3, 1024, 1025} {
			content := make([]byte, 4*n)
			for i := range content {
				content[i] = byte(i)
			}
			x := must.Get(New(dlpack.Float32, []int64{1, int64(n)}, side, content))(t)
			require.Equal(t, []int64{1, int64(n)}, x.Shape())
			got := make([]byte, 4*n)
			require.NoError(t, x.CopyToBytes(got))
			require.Equal(t, content, got)
			require.NoError(t, x.Free())
		}
	}
}

var sink byte

// A read or write of the byte beside a tensor ends the child process, and the error names the step.
func TestRun_NamesTheStep(t *testing.T) {
	for _, side := range Sides {
		for _, write := range []bool{false, true} {
			t.Run(side.String()+map[bool]string{false: ", read", true: ", written"}[write], func(t *testing.T) {
				err := run(t, func(step func(string, ...any)) {
					step("nothing")
					x := must.Get(New(dlpack.Int8, []int64{5}, side, []byte("abcde")))(t)
					at := unsafe.Pointer(&x.Bytes()[0])
					step("inside %d", 5)
					sink = *(*byte)(unsafe.Add(at, 4))
					step("outside %s", side)
					at = unsafe.Add(at, map[Side]int{Before: -1, Behind: 5}[side])
					if write {
						*(*byte)(at) = 1
					} else {
						sink = *(*byte)(at)
					}
				})
				if os.Getenv(child) == "" {
					require.ErrorContains(t, err, "outside "+side.String()+": memory outside of a tensor")
				}
			})
		}
	}
}

func TestRun_Failure(t *testing.T) {
	err := run(t, func(step func(string, ...any)) {
		step("the step")
		require.Fail(t, "a reason")
	})
	require.ErrorContains(t, err, "the step: exit status 1")
	require.ErrorContains(t, err, "a reason")
}

// A signal that Go's handler does not turn into a message is a fault, too.
func TestRun_Signal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGKILL} {
		err := exec.Command("/bin/sh", "-c", fmt.Sprintf("kill -%d $$", sig)).Run()
		require.Equal(t, sig != syscall.SIGKILL, faulted(err, nil), sig)
	}
	require.False(t, faulted(errors.New("exit status 1"), nil))
}

func TestRun(t *testing.T) {
	Run(t, func(step func(string, ...any)) { step("nothing") })
}

// At the side without a guard page next to the tensor, a write is noticed later.
func TestFree_SeesWrites(t *testing.T) {
	for _, side := range Sides {
		x := must.Get(New(dlpack.Int8, []int64{5}, side, []byte("abcde")))(t)
		beside := map[Side]int{Before: 5, Behind: -1}[side]
		*(*byte)(unsafe.Add(unsafe.Pointer(&x.Bytes()[0]), beside)) = 0
		require.ErrorContains(t, x.Free(), map[Side]string{Before: "byte 5 of the tensor was written; it has 5",
			Behind: "byte -1 of the tensor was written"}[side])
	}
}
