package inspect

import (
	"errors"
	"fmt"
	"strings"

	"tvmgo/codegen/abi"
)

// maxVariants is the size of the longest list of variants that is read.
const maxVariants = 1 << 20

// variantTables are the variants of functions. Symbols may share their text, so budget limits the bytes that are read.
type variantTables struct {
	of     map[string][]Variant // by function
	budget int64
}

// addVariants reads the list of the variants of a function.
func (r *Report) addVariants(m *image, s *symbol, tables *variantTables) {
	name := strings.TrimPrefix(s.name, abi.VariantsPrefix)
	list, err := m.readVariants(s, tables)
	if err == nil && list.Function != name {
		err = fmt.Errorf("it is that of function %s", Shown(list.Function))
	}
	if err != nil {
		r.problem(fmt.Sprintf("the list of the variants of function %s (%s) is damaged: %v: ", Shown(name),
			Shown(s.name), err), exportAgain)
		return
	}
	for _, v := range list.Variants {
		shown := Variant{Device: v.Device.String(), Target: v.Target, Function: v.Function}
		for _, n := range v.Needs {
			shown.Needs = append(shown.Needs, n.String())
		}
		tables.of[name] = append(tables.of[name], shown)
	}
}

func (m *image) readVariants(s *symbol, tables *variantTables) (list abi.VariantTable, err error) {
	_, available := m.segmentAt(s.value)
	available = min(available, maxVariants)
	for size := min(available, 4096); ; size = min(available, 2*size) {
		text, err := m.read(s.value, size, "variants")
		if err != nil {
			return list, err
		}
		content, _, ended := strings.Cut(string(text), "\x00")
		tables.budget -= int64(len(content))
		switch {
		case tables.budget < 0:
			return list, errors.New("the lists are longer than the file")
		case ended:
			return abi.ParseVariants(content)
		case size == available:
			return list, errors.New("it has no end")
		}
	}
}

// String returns a variant as text: "add__cuda_sm_90 (cuda -arch=sm_90, compute capability 9.0 to 9.99)".
func (v Variant) String() string {
	return fmt.Sprintf("%s (%s)", v.Function, strings.Join(append([]string{v.Target}, v.Needs...), ", "))
}
