package codegen

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/nearest"
	"tvmgo/runtime"
	"tvmgo/target"
)

// checkCPU returns an error for a processor that neither the tables of all architectures nor this machine's compiler
// know. The compiler is not asked for names of other machines, and without a compiler no name is rejected.
func checkCPU(t *target.Target) error {
	for _, option := range []string{"march", "mcpu"} {
		name, _ := target.Get[string](t, option)
		if name == "" || name == "native" || isKnownCPU(name) {
			continue
		}
		flag := "-march=" + name
		if option == "mcpu" {
			flag = cpuFlag(name)
		}
		said := refusal(flag)
		if said == "" {
			continue
		}
		advice := "leave it out, or name another one"
		if known := listOfCPUs.FindStringSubmatch(said); known != nil {
			names := strings.FieldsFunc(known[1], func(r rune) bool { return r == ' ' || r == ',' })
			advice = "it takes " + strings.Join(names, ", ")
			if n := nearest.Name(name, names); n != "" {
				advice = fmt.Sprintf("did you mean %q? %s", n, advice)
			}
		}
		return runtime.Errorf(runtime.ErrInvalidArgument, "target option %s %q: the C compiler knows no such processor: %s",
			option, name, advice)
	}
	return nil
}

// otherArchs are prefixes of the names of instruction sets for machines without a table of CPUs.
var otherArchs = []string{"armv", "armebv", "rv32", "rv64", "mips", "loongarch", "la", "power", "ppc", "z1", "arch"}

func isKnownCPU(name string) bool {
	base, _, _ := strings.Cut(strings.ReplaceAll(name, "_", "-"), "+")
	for _, triple := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"} {
		if cpufeatures.ValidCPU(triple, base) {
			return true
		}
	}
	for _, prefix := range otherArchs {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// listOfCPUs finds them in the messages of GCC for x86, GCC for Arm and clang.
var listOfCPUs = regexp.MustCompile(`(?m)valid (?:arguments(?: to '[^']*' switch)?|target CPU values) are: ([^;\n]*)`)

// refusals are the messages of compilers that rejected a flag, "" for accepted ones.
var refusals sync.Map

// refusal is the message with which the C compiler rejects a flag; "" if it accepts the flag or cannot be run.
func refusal(flag string) string {
	id := compiler()
	if id == "" {
		return ""
	}
	if known, ok := refusals.Load(id + " " + flag); ok {
		return known.(string)
	}
	command := compilerCommand()
	run := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		var said bytes.Buffer
		cmd.Stderr = &said
		err := cmd.Run()
		return said.String(), err
	}
	base := []string{"-fsyntax-only", "-x", "c", os.DevNull}
	said, err := run(append([]string{flag}, base...)...)
	if err == nil {
		said = ""
	} else if _, err := run(base...); err != nil {
		return "" // it does not work at all, which its first use says
	}
	refusals.Store(id+" "+flag, said)
	return said
}
