//go:build unix

package memory

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func allocate(n int64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func mapFile(f *os.File, n int64, writable bool) ([]byte, error) {
	protection := syscall.PROT_READ
	if writable {
		protection |= syscall.PROT_WRITE
	}
	return syscall.Mmap(int(f.Fd()), 0, int(n), protection, syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
}

func release(b []byte) {
	_ = syscall.Munmap(b) // cannot fail for memory from Make
}

func drop(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // a failure costs memory only
}

// outOfMemory is the error of a mapping for which there is no memory.
const outOfMemory = syscall.ENOMEM
