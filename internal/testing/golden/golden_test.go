package golden

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only the numbers that vary may differ, and only a little.
func TestSettled(t *testing.T) {
	number := regexp.MustCompile(`( *\d+) cows`)
	want := "a  99 cows, 7 hens\nb   5 cows\n"
	for got, same := range map[string]bool{
		want:                               true,
		"a 100 cows, 7 hens\nb   4 cows\n": true,
		"a 102 cows, 7 hens\nb   5 cows\n": false,
		"a  96 cows, 7 hens\nb   5 cows\n": false,
		"a  99 cows, 8 hens\nb   5 cows\n": false,
		"a  99 cows, 7 hens\n":             false,
		"":                                 false,
	} {
		require.Equal(t, same, settled(want, got, number, 2) == want, got)
	}
}
