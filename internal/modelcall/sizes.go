package modelcall

import "fmt"

// WithNoun returns the same function, whose errors call a parameter by another noun, such as "input".
func (f *Function) WithNoun(noun string) *Function {
	other := *f
	other.noun = noun
	return &other
}

// Example returns dimensions of a parameter for which every symbol, and what is not known, is 1. It returns false if
// their number is not known.
func (f *Function) Example(p int) ([]int64, bool) {
	t := &f.types[p]
	if t.NDim < 0 {
		return nil, false
	}
	v := values{known: 1<<len(f.symbols) - 1}
	for i := range f.symbols {
		v.value[i] = 1
	}
	dims := make([]int64, t.NDim)
	for i := range dims {
		dims[i] = 1
		if i < len(t.exprs) && t.exprs[i] != nil {
			if n, ok := t.exprs[i].evaluate(&v); ok {
				dims[i] = n
			}
		}
	}
	return dims, true
}

// IsShape reports whether a parameter is a shape.
func (f *Function) IsShape(p int) bool { return f.types[p].Kind == Shape }

// results returns the fields of the result, or the result itself.
func (f *Function) results() []checked {
	if f.result.Kind == Tuple {
		return f.result.fields
	}
	return []checked{f.result}
}

// Determines returns an error if arguments for these parameters would not determine every dimension of the results: it
// names the result, by its number, and the dimension.
func (f *Function) Determines(params []int) (result int, err error) {
	var known uint64
	for _, p := range params {
		for _, e := range f.types[p].exprs {
			if e != nil && e.op == 's' {
				known |= 1 << e.value
			}
		}
	}
	for i, r := range f.results() {
		for d := range max(r.NDim, 0) {
			var e *expr
			if d < len(r.exprs) {
				e = r.exprs[d]
			}
			if e == nil {
				return i, fmt.Errorf("dimension %d is not known", d)
			}
			missing := ""
			e.eachSymbol(func(s int64) {
				if known&(1<<s) == 0 && missing == "" {
					missing = f.symbols[s]
				}
			})
			if missing != "" {
				return i, fmt.Errorf("dimension %d depends on %s, which no %s determines", d, missing, f.noun)
			}
		}
	}
	return 0, nil
}

// ResultDims returns the dimensions of each result for arguments that Check has accepted. The error names the result by
// its number.
func (f *Function) ResultDims(params []int, args []Argument) ([][]int64, error) {
	var v values
	for i, p := range params {
		if err := f.types[p].check(&v, p, &args[i]); err != nil {
			return nil, fmt.Errorf("%s%w", f.Label(p), err)
		}
	}
	results := f.results()
	list := make([][]int64, len(results))
	for i := range results {
		for d, e := range results[i].exprs {
			n, ok := int64(0), false
			if e != nil {
				n, ok = e.evaluate(&v)
			}
			if !ok || n < 0 {
				return nil, fmt.Errorf("result %d: dimension %d, %s, has no value", i, d, results[i].Dims[d])
			}
			list[i] = append(list[i], n)
		}
	}
	return list, nil
}
