package devicetest

import "time"

// Devices that lose such work are among those of this package's tests, so they wait for less.
func init() { patience = 10 * time.Second }
