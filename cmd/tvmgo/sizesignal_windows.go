package main

// ignoreSizeSignal does nothing: Windows has no such signal.
func ignoreSizeSignal() {}
