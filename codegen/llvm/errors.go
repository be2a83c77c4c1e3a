package llvm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"tvmgo/internal/clang"
	"tvmgo/internal/cpufeatures"
	"tvmgo/internal/nearest"
	"tvmgo/runtime"
)

// wrong returns an error about the value of a target option.
func wrong(option, value, format string, args ...any) error {
	return runtime.Errorf(runtime.ErrInvalidArgument, "target option %s %q: %s", option, value,
		fmt.Sprintf(format, args...))
}

// unknownFeature matches LLVM's warning about a feature that it does not know.
var unknownFeature = lazy(`'[+-]([^']*)' is not a recognized feature`)

// lazy returns a pattern that is compiled at its first use, not when the program starts.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// causes are the messages of clang's versions for wrong target options.
var causes = []struct {
	option  string
	pattern func() *regexp.Regexp
	about   string
}{
	{"mcpu", lazy(`unknown target CPU|'-m(cpu|arch|tune)=|unsupported argument '[^']*' to option '-?-m(cpu|arch|tune)=`),
		"CPU"},
	{"mattr", unknownFeature, "feature"},
	{"mabi", lazy(`unknown target ABI|-mabi=`), "calling convention"},
	{"mfloat-abi", lazy(`-mfloat-abi=|float ABI`), "way of passing floats"},
	{"vector-width", lazy(`-mprefer-vector-width`), "width"},
	{"cl-opt", lazy(`LLVM option parsing|for the -?-[a-z-]+ option|-mllvm`), "option of LLVM"},
	{"mtriple",
		lazy(`unknown target triple|unable to create target|[Nn]o available targets|version '[^']*' in target triple`),
		"machine"},
}

// explain turns clang's message about a target into an error that names the option.
func (c *compiler) explain(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var failed *clang.RunError
	if !errors.As(err, &failed) {
		return c.unexplained(err)
	}
	for _, cause := range causes {
		value := c.valueOf(cause.option)
		if value == "" || !cause.pattern().MatchString(failed.Said) {
			continue
		}
		if cause.option == "mattr" {
			if m := unknownFeature().FindStringSubmatch(failed.Said); m != nil {
				return c.unknown("mattr", value, m[1], cause.about, c.features())
			}
		}
		var known []string
		if cause.option == "mcpu" {
			known = append(cpuList(failed.Said), cpufeatures.CPUs(c.options.triple)...)
		}
		if known != nil {
			return c.unknown(cause.option, value, value, cause.about, known)
		}
		return wrong(cause.option, value, "%s does not know this %s: %s", c.clang, cause.about, firstLine(failed.Said))
	}
	return c.unexplained(err)
}

// unexplained returns an error of clang that no option explains.
func (c *compiler) unexplained(err error) error {
	return runtime.Errorf(runtime.ErrFailed, "%s fails on this target (%s): %w", c.clang, c.target, err)
}

// unknown returns an error about a name that clang does not know, with the nearest known one.
func (c *compiler) unknown(option, value, name, about string, known []string) error {
	advice := ""
	if n := nearest.Name(name, known); n != "" && n != name {
		advice = fmt.Sprintf("; did you mean %q?", n)
	}
	machine := c.options.triple
	if machine == "" {
		machine = "this machine"
	}
	return wrong(option, value, "%s knows no %s %q of %s%s", c.clang, about, name, machine, advice)
}

// valueOf returns the value of a target option as the user wrote it.
func (c *compiler) valueOf(option string) string {
	switch option {
	case "mattr", "cl-opt":
		return strings.Join(listOf(c.target, option), ",")
	case "vector-width":
		if v, ok := c.target.Attrs()[option]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
	return textOf(c.target, option)
}

// features returns the features of all CPUs of the machine's architecture.
func (c *compiler) features() []string {
	seen := map[string]bool{}
	var names []string
	for _, cpu := range cpufeatures.CPUs(c.options.triple) {
		set, _ := cpufeatures.Features(c.options.triple, cpu, nil)
		for _, name := range set.Names() {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// cpuList returns the CPUs that clang lists in its message.
func cpuList(said string) []string {
	_, list, ok := strings.Cut(said, "valid target CPU values are: ")
	if !ok {
		return nil
	}
	list, _, _ = strings.Cut(list, "\n")
	return strings.Split(list, ", ")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimPrefix(strings.TrimPrefix(line, "clang: "), "error: ")
}
