//go:build !cgo

package container

import _ "tvmgo/internal/needscgo"
