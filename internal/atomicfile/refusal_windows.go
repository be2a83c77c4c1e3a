package atomicfile

import "golang.org/x/sys/windows"

// The numbers of Windows for the errors that syscall names as Unix does.
var (
	readOnly = []error{windows.ERROR_WRITE_PROTECT}
	full     = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED,
		windows.ERROR_FILE_TOO_LARGE}
)
