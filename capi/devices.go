//go:build !cpuonly

package main

import _ "tvmgo/runtime/all" // every device; those whose build tag is missing report how to build them in
