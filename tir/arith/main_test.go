package arith

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var counts [numRules]int

// newCounted is an analyzer whose rules are counted.
func newCounted() *Analyzer {
	a := NewAnalyzer()
	a.applied = func(r rule) { counts[r]++ }
	return a
}

// TestMain fails where a rule was used by no test, unless tests were chosen.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if f := flag.Lookup("test.run"); code == 0 && (f == nil || f.Value.String() == "") &&
		flag.Lookup("test.fuzzworker").Value.String() == "false" &&
		flag.Lookup("test.fuzz").Value.String() == "" && flag.Lookup("test.list").Value.String() == "" {
		for r, n := range counts {
			if n == 0 {
				fmt.Printf("no test uses rule %s\n", rule(r))
				code = 1
			}
		}
	}
	os.Exit(code)
}
