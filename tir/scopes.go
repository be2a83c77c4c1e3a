package tir

import "math/bits"

// scopes are the open binders of a walk, outermost first, and the means to remember what was found of a node that stands in several
// places: what was found holds as long as the binders that it depends on are open.
type scopes struct {
	open []uint64 // a number for each, never given twice
	last uint64
	era  uint64 // changes when a variable is bound that is bound or used already: all that was found is forgotten
	used uses   // what the node that is looked at depends on
}

// uses are the levels of open scopes that something depends on; the last bit is for all beyond the 63rd.
type uses uint64

const deepest = 63

func (s *scopes) enter() {
	s.last++
	s.open = append(s.open, s.last)
}

// leave closes the innermost scope; what it encloses no longer depends on it.
func (s *scopes) leave() {
	level := len(s.open) - 1
	s.open = s.open[:level]
	if level < deepest {
		s.used &^= 1 << level
	} else if level == deepest {
		s.used &^= 1 << deepest
	}
}

// use says that the node that is looked at depends on a level; those outside of all scopes are below 0.
func (s *scopes) use(level int) {
	if level >= 0 {
		s.used |= 1 << min(level, deepest)
	}
}

// stamp says how long something holds.
type stamp struct {
	used  uses
	level int // the innermost level it depends on, -1 for none
	scope uint64
	era   uint64
}

// stamp is that of something that depends on what is used now.
func (s *scopes) stamp() stamp {
	level := bits.Len64(uint64(s.used)) - 1
	if level == deepest {
		level = len(s.open) - 1 // not known which: the innermost
	}
	t := stamp{used: s.used, level: level, era: s.era}
	if level >= 0 {
		t.scope = s.open[level]
	}
	return t
}

// holds says whether something still holds; if so, the node that is looked at depends on the same.
func (s *scopes) holds(t stamp) bool {
	if t.era != s.era || t.level >= len(s.open) || t.level >= 0 && s.open[t.level] != t.scope {
		return false
	}
	s.used |= t.used
	return true
}
