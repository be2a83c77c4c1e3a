//go:build !cuda

package daemon_test

import "testing"

// addDevice adds a model on a device that fails, with the tag cuda.
func (l *load) addDevice(t *testing.T, _ string) {
	t.Log("without the tag cuda, no device fails")
}
