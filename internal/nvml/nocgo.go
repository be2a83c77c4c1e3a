//go:build !cgo

package nvml

import _ "tvmgo/internal/needscgo"
