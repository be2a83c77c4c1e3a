package chromium

import (
	"os/exec"
	"syscall"
)

// endsWithItsChildren makes a program that is killed take its children with it: the browser may be a shell script's.
func endsWithItsChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
