//go:build !cgo

package executor

import _ "tvmgo/internal/needscgo"
