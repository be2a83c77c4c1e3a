package target

import (
	"math/big"
	"strconv"
	"strings"
)

// wholeNumber reads a number of JSON. Whether it is whole is a matter of its value, not of its writing.
func wholeNumber(s string) (n int64, isWhole, fits bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true, true
	}
	if !strings.ContainsAny(s, ".eE") {
		return 0, true, false // too long
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 400 || e < -400 { // big.Rat would write it out
			zero := strings.Trim(s[:i], "-0.") == ""
			return 0, zero || !strings.HasPrefix(s[i+1:], "-"), zero
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return 0, false, false
	}
	return r.Num().Int64(), true, r.Num().IsInt64()
}
