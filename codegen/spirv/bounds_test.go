package spirv_test

import "testing"

// Accesses that are outside are skipped and reported.
func TestBoundsCheck(t *testing.T) { harness.BoundsCheck(t) }

// Tensors that overlap are an error where the function writes one of them.
func TestAliasCheck(t *testing.T) { harness.AliasCheck(t) }

// Programs for the CPU and Vulkan share one module.
func TestComposite(t *testing.T) { harness.Composite(t) }
