// Package compilecommand implements the global function tvmgo.compile, by which C programs compile whole models.
//
// It runs the program tvmgo, because the compiler of models would make libtvmgo.so much larger.
package compilecommand

/*
#define _GNU_SOURCE
#include <dlfcn.h>

int TVMFFIEnvCheckSignals(void);

static const char* library_path(void) {
  Dl_info info;
  return dladdr((const void*)&library_path, &info) != 0 ? info.dli_fname : 0;
}
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tvmgo/internal/globals"
	"tvmgo/runtime"
)

// Name is the global function: tvmgo.compile(model, output, option, …) → output. model and output are paths; an option
// is a flag of tvmgo compile, such as "--target=opencl", a list of flags, or a map from names of flags without dashes
// to their values: text, numbers, true, or lists of them.
const Name = "tvmgo.compile"

// Variable is the environment variable that names the program.
const Variable = "TVMGO_COMPILER"

func init() { globals.Set(Name, compile) }

func compile(args ...any) (any, error) {
	if len(args) < 2 {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: expected the path of a model and of the output, got %d "+
			"arguments", Name, len(args))
	}
	model, ok1 := args[0].(string)
	output, ok2 := args[1].(string)
	if !ok1 || !ok2 {
		return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: the paths of the model and of the output are a %T and a "+
			"%T, expected text", Name, args[0], args[1])
	}
	flags := []string{"compile", "-o", output}
	for i, a := range args[2:] {
		more, err := flagsOf(a)
		if err != nil {
			return nil, runtime.Errorf(runtime.ErrInvalidArgument, "%s: argument %d: %w", Name, 2+i, err)
		}
		flags = append(flags, more...)
	}
	program, err := find()
	if err != nil {
		return nil, runtime.Errorf(runtime.ErrNotFound, "%s: %w", Name, err)
	}
	if err := run(exec.Command(program, append(flags, "--", model)...)); err != nil {
		return nil, err
	}
	return output, nil
}

// flagsOf returns the flags of an option.
func flagsOf(option any) ([]string, error) {
	switch o := option.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{o}, nil
	case []any:
		var flags []string
		for _, x := range o {
			s, ok := x.(string)
			if !ok {
				return nil, fmt.Errorf("the list has a %T, expected text", x)
			}
			flags = append(flags, s)
		}
		return flags, nil
	case runtime.Map:
		return flagsOfMap(o)
	}
	return nil, fmt.Errorf("expected a flag such as \"--target=c\", a list of flags or a map, got %T", option)
}

func flagsOfMap(m runtime.Map) ([]string, error) {
	var flags []string
	for _, e := range m {
		values, isList := e.Value.([]any)
		if !isList {
			values = []any{e.Value}
		}
		for _, v := range values {
			switch v.(type) {
			case string, bool, int64, float64:
				flags = append(flags, fmt.Sprintf("--%v=%v", e.Key, v))
			default:
				return nil, fmt.Errorf("option %v is a %T, expected text, a number or true", e.Key, v)
			}
		}
	}
	return flags, nil
}

// find returns the path of the program: that of the environment variable, one beside the library or in the folder bin
// beside its own, or one in PATH.
func find() (string, error) {
	if program := os.Getenv(Variable); program != "" {
		path, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("the program of the environment variable %s: %w", Variable, err)
		}
		return path, nil
	}
	if library := C.library_path(); library != nil {
		if path, err := filepath.EvalSymlinks(C.GoString(library)); err == nil {
			dir := filepath.Dir(path)
			for _, beside := range []string{filepath.Join(dir, "tvmgo"), filepath.Join(filepath.Dir(dir), "bin", "tvmgo")} {
				if found, err := exec.LookPath(beside); err == nil {
					return found, nil
				}
			}
		}
	}
	path, err := exec.LookPath("tvmgo")
	if err != nil {
		return "", fmt.Errorf("models are compiled by the program tvmgo, which is neither beside the library nor in PATH: "+
			"install it, or name it by %s", Variable)
	}
	return path, nil
}

// checkSignals is how often a front end is asked whether it wants to stop.
const checkSignals = 50 * time.Millisecond

// run runs the program. What it says about a failure is the error. The calling thread belongs to C: the program ends if
// that thread does.
func run(cmd *exec.Cmd) error {
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return runtime.Errorf(runtime.ErrFailed, "%s: %w", Name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(checkSignals)
	defer tick.Stop()
	for stopped := false; ; {
		select {
		case err := <-ended:
			if stopped {
				return runtime.Errorf(runtime.ErrFailed, "%s: interrupted: nothing was written", Name)
			}
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				text := strings.TrimPrefix(strings.TrimSpace(said.String()), "tvmgo: ")
				if text == "" {
					text = err.Error()
				}
				return runtime.Errorf(runtime.ErrFailed, "%s: %s", Name, text)
			}
			if err != nil {
				return runtime.Errorf(runtime.ErrFailed, "%s: %w", Name, err)
			}
			return nil
		case <-tick.C:
			if !stopped && C.TVMFFIEnvCheckSignals() != 0 {
				stopped = true
				_ = cmd.Process.Signal(syscall.SIGINT) // the program removes its files; it may have ended
			}
		}
	}
}
