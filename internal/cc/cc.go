// Package cc finds the system's compilers.
package cc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Language is a source language, which determines the compiler.
type Language int

// The languages. The compiler of a language accepts the earlier ones, too.
const (
	C Language = iota
	CXX
	CUDA
)

// Languages maps suffixes of source files to languages.
var Languages = map[string]Language{".c": C, ".cc": CXX, ".cpp": CXX, ".cu": CUDA, ".ll": C, ".s": C}

// candidates has for each language the environment variable, the advice, and the names of programs in the order of the
// search.
var candidates = map[Language]struct {
	variable, advice string
	names            []string
}{
	C: {"CC", "install a C compiler (Debian: apt install gcc libc6-dev; Fedora: dnf install gcc; Alpine: apk add gcc " +
		"musl-dev), or set CC", []string{"cc", "gcc", "clang"}},
	CXX: {"CXX", "install a C++ compiler (Debian: apt install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++), " +
		"or set CXX", []string{"c++", "g++", "clang++"}},
	CUDA: {"NVCC", "install NVIDIA's CUDA toolkit and put nvcc into PATH, or set NVCC", []string{"nvcc"}},
}

// Find returns the compiler of a language as an absolute path and the arguments that it always gets: that of the
// environment variable CC, CXX or NVCC, else one in PATH. more is further advice for the error message if there is
// none.
func Find(lang Language, more string) ([]string, error) {
	from := candidates[lang]
	if words := strings.Fields(os.Getenv(from.variable)); len(words) > 0 {
		path, err := Tool(words[0])
		if err != nil {
			return nil, fmt.Errorf("the compiler %q of the environment variable %s: %w", words[0], from.variable, err)
		}
		return append([]string{path}, words[1:]...), nil
	}
	for _, name := range from.names {
		if path, err := Tool(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("none of %s is in PATH: %s%s", strings.Join(from.names, ", "), from.advice, more)
}

// Tool finds a program in PATH and returns an absolute path, so that it can run in another folder.
func Tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// Excerpt converts the output of a compiler to text: its beginning and its end if it is very long.
func Excerpt(said string) string {
	const most = 1 << 15
	if len(said) > 2*most {
		said = fmt.Sprintf("%s\n… %d bytes …\n%s", said[:most], len(said)-2*most, said[len(said)-most:])
	}
	return strings.ReplaceAll(strings.ToValidUTF8(said, "\ufffd"), "\x00", "\ufffd")
}
