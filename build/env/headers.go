package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tvmgo/build/include"
	"tvmgo/internal/atomicfile"
)

// folder is the folder of the headers in the user's cache; it has a folder for each version of the contents.
const folder = "tvmgo-headers"

// writeHeaders writes the headers below cache and returns the path for the compiler. The name of the folder depends on
// the contents, so that the build cache notices changes, and versions of this module do not affect each other.
func writeHeaders(cache string) (string, error) {
	sum := sha256.New()
	files := map[string][]byte{}
	err := fs.WalkDir(include.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := include.Files.ReadFile(path)
		files[path] = text
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, folder, fmt.Sprintf("%x", sum.Sum(nil)[:8]))
	if strings.ContainsAny(dir, "'\"") {
		return "", fmt.Errorf("the path %s has a quote in it, which go cannot pass on: set XDG_CACHE_HOME to another folder",
			dir)
	}
	for path, text := range files {
		if err := writeFile(filepath.Join(dir, filepath.FromSlash(path)), text); err != nil {
			return "", fmt.Errorf("write headers: %w", err)
		}
	}
	return dir, nil
}

// writeFile replaces a file atomically, so that a compiler that runs meanwhile never reads a part of it.
func writeFile(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && slices.Equal(old, text) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := atomicfile.Create(path, 0o644, atomicfile.ReplaceLinks)
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: err}
	}
	defer f.Discard()
	if _, err = f.Write(text); err == nil {
		err = f.Chmod(0o644) // for all users, whatever the umask is
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: path, Err: atomicfile.Cause(err)}
	}
	return nil
}

// signedChar makes C's char signed, as the bindings of OpenCL expect. On some machines, such as arm64, it is not.
const signedChar = "-fsigned-char"

// withHeaders adds what the headers need to flags: their path and signedChar. It replaces the path that an older
// version added.
func withHeaders(flags, dir string) string {
	var kept []string
	for _, f := range splitFlags(flags) {
		if f != signedChar && !strings.Contains(f, string(filepath.Separator)+folder+string(filepath.Separator)) {
			kept = append(kept, f)
		}
	}
	add := "-I" + dir
	if strings.ContainsAny(add, " \t") {
		add = "'" + add + "'"
	}
	return strings.Join(append([]string{add, signedChar}, kept...), " ")
}

// splitFlags splits at spaces and keeps quotes. As in the go command, a quotation begins only at the beginning of a
// flag.
func splitFlags(flags string) []string {
	var list []string
	for flags = strings.TrimSpace(flags); flags != ""; flags = strings.TrimSpace(flags) {
		end := strings.IndexAny(flags, " \t\n")
		if q := flags[0]; q == '\'' || q == '"' {
			if end = strings.IndexByte(flags[1:], q); end >= 0 {
				end += 2
			}
		}
		if end < 0 {
			end = len(flags)
		}
		list = append(list, flags[:end])
		flags = flags[end:]
	}
	return list
}
