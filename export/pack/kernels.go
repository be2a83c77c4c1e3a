package pack

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tvmgo/internal/cudaimage"
	"tvmgo/internal/spirv"
)

// This file finds kernels by their names, so that a missing one is reported before anything is built. It is no
// compiler: a name that a macro makes is not found.

// stripC removes comments and quoted text from source in a language like C. Line numbers stay the same.
func stripC(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		rest := data[i:]
		end := 0
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			end = bytes.IndexByte(rest, '\n')
		case bytes.HasPrefix(rest, []byte("/*")):
			if end = bytes.Index(rest[2:], []byte("*/")); end >= 0 {
				end += 4
			}
		case rest[0] == '"' || rest[0] == '\'':
			end = quoteEnd(rest)
		default:
			out = append(out, rest[0])
			i++
			continue
		}
		if end < 0 {
			break
		}
		out = append(out, ' ')
		for range bytes.Count(rest[:end], []byte("\n")) {
			out = append(out, '\n')
		}
		i += end
	}
	return out
}

// quoteEnd returns the offset after the closing quote, or of the end of the line.
func quoteEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case data[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return -1
}

// findInC looks for a definition: name(…) {.
func findInC(data []byte, name string) error {
	if definition(stripC(data), name) >= 0 {
		return nil
	}
	return fmt.Errorf("there is no function %q in it", name)
}

// definition returns the offset of the name in the definition of a function; -1 if there is none.
func definition(code []byte, name string) int {
	pattern := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(`)
	for _, at := range pattern.FindAllIndex(code, -1) {
		depth, end := 1, at[1]
		for ; end < len(code) && depth > 0; end++ {
			switch code[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		if rest := bytes.TrimLeft(code[end:], " \t\r\n"); bytes.HasPrefix(rest, []byte("{")) ||
			bytes.HasPrefix(rest, []byte("__attribute__")) {
			return at[0]
		}
	}
	return -1
}

var kernelWord = regexp.MustCompile(`\b(__kernel|kernel)\b`)

func findInOpenCL(data []byte, name string) error {
	code := stripC(data)
	at := definition(code, name)
	if at < 0 {
		return fmt.Errorf("there is no kernel %q in it", name)
	}
	if !kernelWord.Match(declarationBefore(code, at)) {
		return fmt.Errorf("the function %q in it is no kernel: put __kernel before it", name)
	}
	return nil
}

// declarationBefore returns the text between the end of the previous declaration and a function's name.
func declarationBefore(code []byte, at int) []byte {
	from := bytes.LastIndexAny(code[:at], ";}") + 1
	return code[from:at]
}

var globalWord, externWord = regexp.MustCompile(`\b__global__\b`), regexp.MustCompile(`\bextern\b`)

func findInCUDA(data []byte, name string) error {
	code := stripC(data)
	at := definition(code, name)
	if at < 0 {
		return fmt.Errorf("there is no kernel %q in it", name)
	}
	before := declarationBefore(code, at)
	if !globalWord.Match(before) {
		return fmt.Errorf("the function %q in it is no kernel: put extern \"C\" __global__ before it", name)
	}
	if !externWord.Match(code[:at]) { // an extern "C" block may have begun far above
		return fmt.Errorf("the kernel %q in it has C++'s name: put extern \"C\" before it", name)
	}
	return nil
}

func findInPTX(data []byte, name string) error {
	code := stripC(data)
	if !bytes.Contains(code, []byte(".version")) {
		return errors.New("it is no PTX: the directive .version is missing")
	}
	pattern := regexp.MustCompile(`\.entry\s+([A-Za-z_$%][\w$]*)`)
	var names []string
	for _, m := range pattern.FindAllSubmatch(code, -1) {
		names = append(names, string(m[1]))
	}
	if !slices.Contains(names, name) {
		for _, other := range names {
			if strings.HasPrefix(other, "_Z") && strings.Contains(other, name) {
				return fmt.Errorf("there is no kernel %q in it, but %s: put extern \"C\" before it in its source", name, other)
			}
		}
		return fmt.Errorf("there is no .visible .entry %s in it", name)
	}
	visible := regexp.MustCompile(`\.visible\s+\.entry\s+` + regexp.QuoteMeta(name) + `\b`)
	if !visible.Match(code) {
		return fmt.Errorf("the kernel %q in it is not .visible", name)
	}
	return nil
}

// objectFunctions lists the global functions that an object file defines.
func objectFunctions(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is no ELF object: %w", err)
	}
	if f.Type != elf.ET_REL {
		return nil, fmt.Errorf("it is %v, not an object file: compile it with -c", f.Type)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("its symbols: %w", err)
	}
	var names []string
	for _, s := range symbols {
		bind, kind := elf.ST_BIND(s.Info), elf.ST_TYPE(s.Info)
		if s.Section != elf.SHN_UNDEF && (bind == elf.STB_GLOBAL || bind == elf.STB_WEAK) && kind == elf.STT_FUNC {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// cubinKernels lists the kernels of an image for a GPU: each has a section of code.
func cubinKernels(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("it is no ELF image for a GPU: %w", err)
	}
	const machineCUDA = 190
	if f.Machine != machineCUDA {
		return nil, fmt.Errorf("it is for the machine %v, not for CUDA", f.Machine)
	}
	var names []string
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".text."); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// findInFatbin searches the parts that are not compressed; the driver reports kernels that are missing in the others.
func findInFatbin(data []byte, name string) error {
	info, err := cudaimage.Describe(data)
	if err != nil {
		return err
	}
	if info.Format != cudaimage.Fatbin {
		return fmt.Errorf("it is %s, not a fatbin", info.Format)
	}
	for _, p := range info.Parts {
		if p.Compressed {
			return nil
		}
	}
	return findIn(info.Kernels(), name)
}

// spirvKernels lists the entry points for computing.
func spirvKernels(data []byte) ([]string, error) {
	m, err := spirv.Parse(data)
	if err != nil {
		return nil, err
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m.Names(spirv.Compute), nil
}

// scalarsInUniform reports whether a shader reads its scalars from a uniform buffer. It is an error if the shader
// declares neither push constants nor a uniform buffer.
func scalarsInUniform(m *spirv.Module, e *spirv.EntryPoint) (bool, error) {
	uniform := e.ScalarsInUniform()
	if e.PushConstants == 0 && !uniform && !m.DeclaresScalars() {
		return false, fmt.Errorf("the kernel %s has neither push constants nor a uniform buffer, from which scalar "+
			"arguments come", e.Name)
	}
	return uniform, nil
}
