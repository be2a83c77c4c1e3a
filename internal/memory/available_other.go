//go:build !linux && !windows && !darwin

package memory

import "math"

func available() int64 { return math.MaxInt64 }
