package export

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"tvmgo/blob"
	"tvmgo/internal/unfinished"
	"tvmgo/runtime"
)

// Library writes a module and everything that it imports to a file. The path's suffix selects the form: a shared
// library (.so), a static library (.a), objects for a later link (.tar) or one object (.o). The package comment
// describes how it is built and what is checked before the file appears. The caller still owns m.
//
// The error is runtime.ErrInvalidArgument for an unknown suffix and for a library that fails the checks,
// runtime.ErrNotFound for a missing compiler, and runtime.ErrClosed for a module that is nil or closed; a compiler that
// fails is a *CompileError. If ctx ends first, compilers are stopped. After an error, an existing file at the path is
// unchanged.
func Library(ctx context.Context, m *runtime.Module, path string, options ...Option) error {
	err := export(ctx, m, path, options)
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("export %s: %w", path, cause)
	}
	// one of runtime's errors keeps its kind, also for C
	out := &runtime.Error{Op: fmt.Sprintf("export %q", path), Kind: runtime.ErrFailed,
		Code: runtime.CodeOf(runtime.ErrFailed), Message: err.Error(), Err: err}
	if filepath.Clean(path) == path && !unprintable.MatchString(path) {
		out.Op = "export " + path
	}
	var inner *runtime.Error
	if errors.As(err, &inner) {
		out.Kind, out.Code = inner.Kind, inner.Code
	}
	return out
}

var unprintable = regexp.MustCompile(`[^[:graph:]]`)

func export(ctx context.Context, m *runtime.Module, path string, options []Option) (err error) {
	c := &config{layout: blob.Modern}
	for i, o := range options {
		if o == nil {
			return invalid("option %d is nil", i)
		}
		o(c)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := checkSuffix(path, c.compile != nil); err != nil {
		return err
	}
	if err := c.check(filepath.Ext(path)); err != nil {
		return err
	}
	t, err := collect(m)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.checkNames(); err != nil {
		return err
	}
	out, err := reserve(path)
	if err != nil {
		return err
	}
	defer out.discard()
	if done, err := copyLibrary(t, c, out); done || err != nil {
		return err
	}
	if err := t.number(); err != nil {
		return err
	}
	return build(ctx, t, c, out)
}

// outputDir is the folder below that of the sources in which tools write the output.
const outputDir = "output"

// build makes the output of a numbered tree in a folder of its own.
func build(ctx context.Context, t *tree, c *config, out *output) (err error) {
	dir := c.keep
	if dir == "" {
		if dir, err = unfinished.MkdirTemp("tvmgo-export-"); err != nil {
			return fmt.Errorf("no folder for the sources: %w: set TMPDIR to one that can be written", err)
		}
		defer unfinished.Remove(dir)
	} else if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("no folder for the sources: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := out.begin(filepath.Join(dir, outputDir)); err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Join(dir, outputDir)) // the file is at its path, also with KeepFiles
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &buildJob{ctx: ctx, tree: t, config: c, dir: dir, out: out}
	return b.build()
}

var prefixPattern = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)?$`)

// check returns an error for options that exclude each other.
func (c *config) check(suffix string) error {
	if c.layout != blob.Modern && c.layout != blob.Legacy {
		return invalid("the layout is %v: it must be blob.Modern or blob.Legacy; what lies between them is read by TVM "+
			"v0.21 alone", c.layout)
	}
	if !prefixPattern.MatchString(c.prefix) {
		return invalid("the prefix %q of the system library cannot begin a C identifier: use letters, digits and _", c.prefix)
	}
	if c.packing < PackAssembler || c.packing > PackLLVM {
		return invalid("there is no packing %d", c.packing)
	}
	if c.compile == nil {
		switch suffix {
		case archiveSuffix:
			c.system = true
		case sharedSuffix:
			if c.system {
				return invalid("a shared library can't be a system library, whose functions register themselves before a " +
					"runtime could connect the file with itself: export a .a, or leave out SystemLibrary")
			}
		}
	}
	for _, list := range [][]string{c.compiler, c.flags, c.includes, c.objects, c.libraries, {c.sysroot, c.keep}} {
		for _, s := range list {
			if hasNUL(s) {
				return invalid("the option %q has a zero byte inside", s)
			}
		}
	}
	if slices.Contains(c.libraries, "") {
		return invalid("the option Libraries has an empty name")
	}
	if len(c.compiler) > 0 && c.compiler[0] == "" {
		return invalid("the option Compiler has an empty path")
	}
	var err error
	for i, path := range c.objects {
		if c.objects[i], err = filepath.Abs(path); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return runtime.Errorf(runtime.ErrNotFound, "file to link: %w", err)
		}
		if !info.Mode().IsRegular() {
			return invalid("file to link: %s is no ordinary file", path)
		}
		if suffix != sharedSuffix && c.compile == nil && filepath.Ext(path) != ".o" {
			return invalid("%s can't go into a %s file: only objects (.o) can", path, suffix)
		}
	}
	return nil
}
