//go:build race

package daemon_test

func init() { raceDetector = true }
