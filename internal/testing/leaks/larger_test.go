package leaks

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what was not there before is a leak.
func TestLarger(t *testing.T) {
	type figure struct {
		objects int64
		bytes   [2]int
		text    string
	}
	before := figure{3, [2]int{4, 5}, "a"}
	for after, want := range map[figure]bool{
		before:                 false,
		{2, [2]int{4, 5}, "a"}: false,
		{3, [2]int{4, 0}, "a"}: false,
		{4, [2]int{4, 5}, "a"}: true,
		{2, [2]int{4, 6}, "a"}: true,
		{3, [2]int{4, 5}, "b"}: true,
	} {
		require.Equal(t, want, larger(reflect.ValueOf(after), reflect.ValueOf(before)), after)
	}
}
