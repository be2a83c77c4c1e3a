package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// Linux constants that package syscall lacks.
const (
	oTmpfile        = 0o20000000 | syscall.O_DIRECTORY
	atFDCWD         = -100
	atSymlinkFollow = 0x400
)

// createNameless makes a file without a name in a folder.
func createNameless(dir string, perm fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_WRONLY|oTmpfile, perm)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(descriptor(f)); err != nil { // without /proc it could never get a name
		f.Close()
		return nil, err
	}
	return f, nil
}

func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

func (f *File) linkAt(name string) error {
	from, err := syscall.BytePtrFromString(descriptor(f.File))
	if err != nil {
		return err
	}
	to, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	at := atFDCWD
	_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(at), uintptr(unsafe.Pointer(from)),
		uintptr(at), uintptr(unsafe.Pointer(to)), atSymlinkFollow, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
