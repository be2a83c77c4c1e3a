//go:build opencl

package main

const openclTag = "opencl"
