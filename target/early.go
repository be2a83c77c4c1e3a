package target

import "sync"

// early contains the attributes that init functions set on built-in kinds before the kinds are made, so that a program
// that uses no target starts without making them.
var early struct {
	sync.Mutex
	settled bool
	attrs   []earlyAttr
}

type earlyAttr struct {
	kind, column string
	value        any
}

// setEarly keeps an attribute until the kinds are made. The result is false if they are made already, or if the
// attribute can only be checked against the kind.
func setEarly(kind, column string, value any) (kept bool, err error) {
	if column == ColumnStrategy || !isBuiltin(kind) {
		return false, nil
	}
	early.Lock()
	defer early.Unlock()
	if early.settled {
		return false, nil
	}
	if value, err = typed(column, value); err != nil {
		return true, badAttr(kind, err)
	}
	for _, a := range early.attrs {
		if a.kind == kind && a.column == column {
			return true, takenColumn(kind, column)
		}
	}
	early.attrs = append(early.attrs, earlyAttr{kind, column, value})
	return true, nil
}

// settleEarly sets the kept attributes on the kinds, which are made now.
func settleEarly() {
	early.Lock()
	defer early.Unlock()
	for _, a := range early.attrs {
		if err := setAttr((*kinds.all.Load())[a.kind], a.column, a.value); err != nil {
			panic(err) // the kind's declaration sets the same column
		}
	}
	early.settled, early.attrs = true, nil
}

// Declared reports whether a kind of this name exists, and whether it is composite. Unlike LookupKind it does not
// create the built-in kinds, so init functions may call it.
func Declared(name string) (declared, composite bool) {
	if isBuiltin(name) {
		return true, name == "composite"
	}
	all := kinds.all.Load()
	if all == nil {
		return false, false
	}
	k := (*all)[name]
	return k != nil, k != nil && k.composite
}
