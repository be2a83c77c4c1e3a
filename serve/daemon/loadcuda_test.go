//go:build cuda

package daemon_test

import (
	"sync/atomic"
	"testing"

	"tvmgo/internal/testing/cudarun"
	"tvmgo/internal/testing/servetest"
)

// addDevice adds a model on a CUDA device, which fails for a while: each call of the driver fails, as after a kernel
// with a wrong address, until clients have seen it.
func (l *load) addDevice(t *testing.T, path string) {
	driver := cudarun.Use(t)
	servetest.Affine(t, path, 9, 4, `{"kind": "cuda", "arch": "sm_90", "host": "c"}`)
	l.fault = &fault{}
	m := &linear{name: "device", factor: 9, offset: 4, vanish: true, fault: l.fault}
	l.models = append(l.models, m)
	l.breaks = func(left *atomic.Int64, of int64, ended <-chan struct{}) {
		state := &l.fault.state
		if !state.CompareAndSwap(healthy, failing) {
			return // in an earlier part of the load
		}
		const illegalAddress = 700
		wait(ended, func() bool { return left.Load() < of*3/4 })
		driver.LoseDevice(0, illegalAddress)
		state.Store(lost)
		seen := m.failed.Load() + 20
		wait(ended, func() bool { return m.failed.Load() >= seen })
		state.Store(recovering)
		driver.LoseDevice(0, 0)
		state.Store(repaired)
	}
}
