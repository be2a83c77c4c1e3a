// Package scopes has what the walks of tir.Check, compare.Equal and compare.Hash share: which binders are open, and for
// how long a result holds that was found for a node that is used in several places.
package scopes

import "math/bits"

// Scopes are the open binders of a walk, outermost first. A result that was found for a node holds as long as the
// binders that it depends on are open.
type Scopes struct {
	Open []uint64 // a number for each, never given twice
	last uint64
	Era  uint64 // changes when a variable is bound that is bound or used already: all that was found is forgotten
	Used Uses   // what the node that is looked at depends on
}

// Uses are the levels of open scopes that something depends on; the last bit is for all beyond the 63rd.
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

// Use says that the node that is looked at depends on a level; those outside of all scopes are below 0.
func (s *Scopes) Use(level int) {
	if level >= 0 {
		s.Used |= 1 << min(level, deepest)
	}
}

// MaxDepth is how deep nodes may be nested for Check, Equal and Hash; deeper ones are most likely endless.
const MaxDepth = 200_000

// Stamp says how long a result holds.
type Stamp struct {
	used  Uses
	level int // the innermost level it depends on, -1 for none
	scope uint64
	era   uint64
}

// Stamp returns the stamp of a result that depends on what is used now.
func (s *Scopes) Stamp() Stamp {
	level := bits.Len64(uint64(s.Used)) - 1
	if level == deepest {
		level = len(s.Open) - 1 // not known which: the innermost
	}
	t := Stamp{used: s.Used, level: level, era: s.Era}
	if level >= 0 {
		t.scope = s.Open[level]
	}
	return t
}

// Holds says whether something still holds; if so, the node that is looked at depends on the same.
func (s *Scopes) Holds(t Stamp) bool {
	if t.era != s.Era || t.level >= len(s.Open) || t.level >= 0 && s.Open[t.level] != t.scope {
		return false
	}
	s.Used |= t.used
	return true
}
