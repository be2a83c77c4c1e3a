// Package gpu registers the default schedulers for devices with threads (key "gpu"). Their parameters are in [Config],
// which derives from the limits of the target ([LimitsOf]); they do not know devices by name.
package gpu

import (
	"fmt"

	"tvmgo/te/schedule"
	"tvmgo/tir"
)

func init() {
	if err := schedule.Register("gpu", "", scheduleGPU); err != nil {
		panic(fmt.Sprintf("te/schedule/gpu: %v", err)) // another package took the key
	}
}

// scheduleGPU is the schedule of groups that no other scheduler of this package handles.
func scheduleGPU(g *schedule.Group) (bool, error) {
	c, err := configOf(g)
	if err != nil {
		return false, err
	}
	l := LimitsOf(g.Target)
	for _, t := range append(g.Parts(), g.Root) {
		if tir.SharesBytes(t.ProducerDType()) {
			c.Elementwise.group(g, l)
			return true, nil
		}
	}
	if !c.Convolution.group(g, &c.Matmul, &c.TensorCore, &c.Elementwise, l) &&
		!c.Rows.group(g, &c.Reduction, &c.Elementwise, l) && !c.Reduction.group(g, l) &&
		!c.TensorCore.group(g, &c.Elementwise, l) && !c.Matmul.group(g, &c.Elementwise, l) && !c.Transpose.group(g, l) {
		c.Elementwise.group(g, l)
	}
	return true, nil
}
