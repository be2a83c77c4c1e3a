package llvm

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tvmgo/internal/objects/elfmachine"
	"tvmgo/runtime"
)

// hostOnly returns an error unless this process can run the module's code.
func (m *module) hostOnly() error {
	if found := m.compiler.machine; found != hostMachine() {
		return runtime.Errorf(runtime.ErrNotSupported, "its code is for %s (mtriple %q), and this machine is %s: "+
			"export it by export.Library, or save it by SaveToFile, and "+
			"call it there", found, m.compiler.options.triple, hostMachine())
	}
	missing, err := m.compiler.missingFeatures(context.Background())
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(f string) bool { return f == "sgx" }) // no compiler generates it
	if len(missing) > 0 {
		return runtime.Errorf(runtime.ErrNotSupported, "its code may use %s, which this machine's CPU does not have "+
			"(mcpu %q, mattr %q): leave that out of the target, or export the module and call it where "+
			"the CPU has it", strings.Join(missing, ", "), textOf(m.compiler.target, "mcpu"), strings.Join(
			listOf(m.compiler.target, "mattr"), ","))
	}
	return nil
}

// machineOf returns the machine of an object file.
func machineOf(object []byte) string {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return "a system that has no ELF files"
	}
	defer f.Close()
	return describeMachine(elfmachine.Of(f))
}

func hostMachine() string { return describeMachine(elfmachine.Host()) }

func describeMachine(m elfmachine.Machine) string {
	name := strings.ToLower(strings.TrimPrefix(m.Arch.String(), "EM_"))
	text := fmt.Sprintf("%s of %s bits", name, strings.TrimPrefix(m.Class.String(), "ELFCLASS"))
	if m.Data == elf.ELFDATA2MSB {
		text += ", big-endian"
	}
	return text
}

// featureMacro matches the macro that clang defines for a feature of an x86 CPU.
var featureMacro = lazy(`(?m)^#define __([A-Z][A-Z0-9_]*)__ 1$`)

// missingFeatures returns the features that the target's CPU has and this machine's CPU lacks. They are known for x86
// only.
func (c *compiler) missingFeatures(ctx context.Context) ([]string, error) {
	if !isX86(archOf(c.options.triple)) || len(c.options.machine) == 0 {
		return nil, nil
	}
	wanted, err := c.macros(ctx, c.options.machine)
	if err != nil {
		return nil, err
	}
	native := []string{"-march=native"}
	if c.options.triple != "" {
		native = append(native, "--target="+c.options.triple)
	}
	present, err := c.macros(ctx, native)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range wanted {
		if !slices.Contains(present, name) {
			missing = append(missing, strings.ToLower(name))
		}
	}
	return missing, nil
}

// knownMacros caches the macros for a compiler and its flags.
var knownMacros sync.Map

func (c *compiler) macros(ctx context.Context, flags []string) ([]string, error) {
	key := c.clang.ID() + " " + strings.Join(flags, " ")
	if known, ok := knownMacros.Load(key); ok {
		return known.([]string), nil
	}
	out, _, err := c.clang.Run(ctx, nil, append(slices.Clone(flags), "-dM", "-E", "-x", "c", "-")...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range featureMacro().FindAllSubmatch(out, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	knownMacros.Store(key, names)
	return names, nil
}
