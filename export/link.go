package export

import (
	"archive/tar"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// link makes the shared library.
func (b *buildJob) link() error {
	args := []string{"-shared"}
	linker := "--build-id=none"
	if b.mixesPages() {
		linker += ",-z,separate-code"
	}
	if b.nvcc {
		args = append(args, "-Xcompiler=-fPIC", "-Xlinker="+linker)
	} else {
		args = append(args, "-fPIC", "-Wl,"+linker)
	}
	args = append(args, "-o", b.out.temp)
	for _, o := range b.objects {
		args = append(args, filepath.Join(b.dir, o))
	}
	args = append(args, b.config.objects...)
	args = append(args, b.config.flags...)
	libraries, err := b.libraries()
	if err != nil {
		return err
	}
	for _, l := range libraries {
		args = append(args, "-l"+l)
	}
	if b.stubs {
		stubs, err := b.stubArguments()
		if err != nil {
			return err
		}
		args = append(args, stubs...)
	} else if !b.nvcc { // the mathematical functions of generated code; omitted if nothing uses them
		args = append(args, "-Wl,--as-needed", "-lm")
	}
	return b.compiler("", args...)
}

// mixesPages reports whether the linker puts constants into pages with code unless it is told not to, as GNU ld does
// for arm64. The runtime copies such constants instead of using them in the file. gold has no such option.
func (b *buildJob) mixesPages() bool {
	if len(b.objects) == 0 || slices.Contains(b.config.flags, "-fuse-ld=gold") {
		return false
	}
	f, err := elf.Open(filepath.Join(b.dir, b.objects[0]))
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Machine == elf.EM_AARCH64
}

// members are the files of an archive; two with the same base name are an error.
func (b *buildJob) members() ([]string, error) {
	var files []string
	for _, o := range b.objects {
		files = append(files, filepath.Join(b.dir, o))
	}
	files = append(files, b.config.objects...)
	seen := map[string]bool{}
	for _, f := range files {
		if base := filepath.Base(f); seen[base] {
			return nil, invalid("two files of the name %s: rename the one that is linked in addition", base)
		}
		seen[filepath.Base(f)] = true
	}
	if len(files) == 0 {
		return nil, invalid("there is nothing to link")
	}
	for _, f := range files {
		if err := checkObject(f); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// archive makes the static library. The flag D omits dates and owners.
func (b *buildJob) archive() error {
	files, err := b.members()
	if err != nil {
		return err
	}
	ar, err := b.tool("ar")
	if err != nil {
		return err
	}
	_, err = b.run("", append([]string{ar, "rcsD", b.out.temp}, files...)...)
	return err
}

// object links all objects into one.
func (b *buildJob) object() error {
	files, err := b.members()
	if err != nil {
		return err
	}
	if len(files) == 1 {
		return copyFile(files[0], b.out.temp)
	}
	return b.compiler("", append([]string{"-r", "-nostdlib", "-o", b.out.temp}, files...)...)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o666)
}

// buildOfOne makes an output that needs no tool: the objects of a module that has them already.
func (b *buildJob) buildOfOne() (done bool, err error) {
	suffix := filepath.Ext(b.out.path)
	if len(b.sources) != 1 || filepath.Ext(b.sources[0]) != ".o" || b.blobSize > 0 || b.config.system ||
		len(b.config.objects) > 0 ||
		suffix != tarSuffix && suffix != objectSuffix {
		return false, nil
	}
	b.objects = b.sources
	path := filepath.Join(b.dir, b.sources[0])
	switch {
	case suffix == tarSuffix:
		err = b.tar()
	case isForeignFormat(path):
		err = copyFile(path, b.out.temp)
	default:
		err = b.object()
	}
	if err == nil {
		err = b.out.publish(0o666)
	}
	return true, err
}

// tar makes the archive of objects.
func (b *buildJob) tar() error {
	files, err := b.members()
	if err != nil {
		return err
	}
	f, err := os.Create(b.out.temp)
	if err != nil {
		return err
	}
	w := tar.NewWriter(f)
	for _, file := range files {
		if err = addToTar(w, file); err != nil {
			break
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

func addToTar(w *tar.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(path), Mode: 0o644, Size: info.Size(),
		ModTime: time.Unix(0, 0)}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
