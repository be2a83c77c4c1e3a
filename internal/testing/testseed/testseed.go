// Package testseed sets the seed of random tests: the same in every run, so that every run tests the same cases,
// unless the environment variable TVMGO_TEST_SEED is a number or "random".
package testseed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Variable is the name of the environment variable.
const Variable = "TVMGO_TEST_SEED"

// Of returns the seed of a test, and logs it. It is 1 unless the environment variable is set.
func Of(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(1)
	switch s := os.Getenv(Variable); s {
	case "":
	case "random":
		seed = rand.Uint64()
	default:
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("%s is %q: give it a number that is not negative, or \"random\"", Variable, s)
		}
	}
	t.Logf("%s=%d", Variable, seed)
	return seed
}

// Rand returns a generator of random numbers with the seed of a test.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Of(t), 0))
}
