//go:build !opencl

package main

const openclTag = ""
