package arith

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var counts [numRules]int

// newCounted returns an analyzer that counts the rules that it applies.
func newCounted() *Analyzer {
	a := NewAnalyzer()
	a.applied = func(r rule) { counts[r]++ }
	return a
}

// TestMain fails if no test applied a rule, unless only some tests were run.
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
