//go:build !linux

package chromium

import "os/exec"

// endsWithItsChildren does nothing: the browsers of other systems end by themselves.
func endsWithItsChildren(*exec.Cmd) {}
