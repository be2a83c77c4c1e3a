//go:build cpuonly

package main

import (
	_ "tvmgo/runtime/graph"
	_ "tvmgo/runtime/vm"
)
