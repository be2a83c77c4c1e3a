package export

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/runtime"
)

// libraries returns the libraries to link: those of the option, and those that the linked modules request.
func (b *buildJob) libraries() ([]string, error) {
	var all []string
	add := func(name string) error {
		name, err := b.findLibrary(name)
		if err == nil && !slices.Contains(all, name) {
			all = append(all, name)
		}
		return err
	}
	for _, l := range b.config.libraries {
		if err := add(l); err != nil {
			return nil, err
		}
	}
	for _, i := range b.tree.linked() {
		wanted, err := askLibraries(b.tree.nodes[i].module)
		if err != nil {
			return nil, err
		}
		for _, l := range wanted {
			if err := add(l); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// findLibrary chooses among names that "|" divides: the first that the compiler finds.
func (b *buildJob) findLibrary(names string) (string, error) {
	all := strings.Split(names, "|")
	if len(all) == 1 || b.nvcc {
		return all[0], nil
	}
	for _, name := range all {
		if slices.ContainsFunc([]string{"lib" + name + ".so", "lib" + name + ".a"}, b.hasLibrary) {
			return name, nil
		}
	}
	return "", runtime.Errorf(runtime.ErrNotFound, "the compiler %s finds none of the libraries %s, which the code "+
		"calls: install one (Debian has libopenblas-dev "+
		"for products of matrices), say by Flags where it is (-Lfolder), or leave it out of the target's libs", b.command[0],
		strings.Join(all, ", "))
}

func (b *buildJob) hasLibrary(file string) bool {
	for i, flag := range b.config.flags {
		dir, is := strings.CutPrefix(flag, "-L")
		if is && dir == "" && i+1 < len(b.config.flags) {
			dir = b.config.flags[i+1]
		}
		if _, err := os.Stat(filepath.Join(dir, file)); is && err == nil {
			return true
		}
	}
	command := append(slices.Clone(b.command), b.config.flags...)
	if b.config.sysroot != "" {
		command = append(command, "--sysroot="+b.config.sysroot)
	}
	out, err := b.run("", append(command, "-print-file-name="+file)...)
	path := strings.TrimSpace(out) // the name itself where there is no such file
	return err == nil && filepath.IsAbs(path)
}
