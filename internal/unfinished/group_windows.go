package unfinished

import (
	"os"
	"syscall"
)

// ownGroup are the attributes of a process that does not get the Ctrl-C of this process's console.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func killGroup(leader int) error {
	p, err := os.FindProcess(leader)
	if err != nil {
		return err
	}
	defer p.Release()
	return p.Kill()
}
