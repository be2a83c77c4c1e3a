// Package scopes is shared by the walks of tir.Check, compare.Equal and compare.Hash. It tracks which binders are open,
// and how long the result for a node remains valid, since a node can occur several times in a program.
package scopes

import "math/bits"

// Scopes are the open binders of a walk, outermost first. The result for a node is valid as long as the binders that it
// depends on are open.
type Scopes struct {
	Open []uint64 // a unique number for each
	last uint64
	Era  uint64 // changes when a variable is bound again after a binding or a use: all earlier results become invalid
	Used Uses   // what the current node depends on
}

// Uses is a set of the levels of open scopes that a result depends on; the last bit stands for all levels from 63 on.
type Uses uint64

const deepest = 63

func (s *Scopes) Enter() {
	s.last++
	s.Open = append(s.Open, s.last)
}

// Leave closes the innermost scope; what it encloses no longer depends on it.
func (s *Scopes) Leave() {
	level := len(s.Open) - 1
	s.Open = s.Open[:level]
	if level < deepest {
		s.Used &^= 1 << level
	} else if level == deepest {
		s.Used &^= 1 << deepest
	}
}

// Use records that the current node depends on a level. Levels below 0 are outside of all scopes.
func (s *Scopes) Use(level int) {
	if level >= 0 {
		s.Used |= 1 << min(level, deepest)
	}
}

// MaxDepth is the maximum nesting of nodes for Check, Equal and Hash; deeper programs most likely contain a cycle.
const MaxDepth = 200_000

// Stamp records how long a result is valid.
type Stamp struct {
	used  Uses
	level int // the innermost level it depends on, -1 for none
	scope uint64
	era   uint64
}

// Stamp returns the stamp of a result that depends on what has been used since Enter.
func (s *Scopes) Stamp() Stamp {
	level := bits.Len64(uint64(s.Used)) - 1
	if level == deepest {
		level = len(s.Open) - 1 // the exact level is not known: assume the innermost
	}
	t := Stamp{used: s.Used, level: level, era: s.Era}
	if level >= 0 {
		t.scope = s.Open[level]
	}
	return t
}

// Holds reports whether a result is still valid. If so, the current node depends on the same levels.
func (s *Scopes) Holds(t Stamp) bool {
	if t.era != s.Era || t.level >= len(s.Open) || t.level >= 0 && s.Open[t.level] != t.scope {
		return false
	}
	s.Used |= t.used
	return true
}
