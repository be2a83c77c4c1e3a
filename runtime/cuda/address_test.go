//go:build cuda

package cuda_test

import "unsafe"

func addressOf[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }
