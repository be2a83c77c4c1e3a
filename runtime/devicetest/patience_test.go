package devicetest

import "time"

// Some devices in this package's tests lose such work, so the time limit is shorter.
func init() { patience = 10 * time.Second }
