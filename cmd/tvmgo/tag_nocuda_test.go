//go:build !cuda

package main

const cudaTag = ""
