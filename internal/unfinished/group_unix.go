//go:build unix

package unfinished

import "syscall"

// ownGroup are the attributes of a process that leads a new process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the processes of a group.
func killGroup(leader int) error { return syscall.Kill(-leader, syscall.SIGKILL) }
