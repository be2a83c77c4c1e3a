//go:build cgo

package main

import (
	"github.com/spf13/cobra"

	_ "tvmgo/runtime/all" // if a device's build tag is missing, its errors say how to build it in
)

func init() {
	modules.commands = []func() *cobra.Command{
		newDevicesCommand, newDoctorCommand, newRunCommand, newServeCommand, newVerifyCommand,
		// Hidden: commands of child processes.
		newDescribeCommand, newVectorCommand, newRunChildCommand,
	}
	describe = describeByChildren
	compilers.short, compilers.lack = targets.short, targets.lack // if a build with C lacks them
}
