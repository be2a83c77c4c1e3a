package gpu

import (
	"fmt"

	"tvmgo/target"
	"tvmgo/te/schedule"
)

// Config holds the parameters of the schedules of this package, grouped by operator family. [DefaultConfig] derives
// them from a target; a program may change them before it passes them to ops.ScheduleWith. All fields are plain
// numbers, so that a Config can be stored as JSON. It never changes a result, except for the order of sums.
type Config struct {
	Elementwise Elementwise
	Attention   Attention
	Reduction   Reduction
	Rows        Rows
	Matmul      Matmul
	TensorCore  TensorCore
	Convolution Convolution
	Transpose   Transpose
}

// section is the part of a Config for an operator family.
type section struct {
	name string
	of   interface {
		check(Limits) error // names the field and the limit that it exceeds
	}
}

func (c *Config) sections() []section {
	return []section{
		{"Elementwise", &c.Elementwise},
		{"Attention", &c.Attention},
		{"Reduction", &c.Reduction},
		{"Rows", &c.Rows},
		{"Matmul", &c.Matmul},
		{"TensorCore", &c.TensorCore},
		{"Convolution", &c.Convolution},
		{"Transpose", &c.Transpose},
	}
}

// DefaultConfig returns the parameters that ops.Schedule uses for a target. They depend on the target's limits only.
func DefaultConfig(t *target.Target) *Config {
	l := LimitsOf(t)
	return &Config{Elementwise: defaultElementwise(l), Attention: defaultAttention(l),
		Reduction: defaultReduction(l), Rows: defaultRows(l), Matmul: defaultMatmul(l),
		TensorCore: defaultTensorCore(l), Convolution: defaultConvolution(l), Transpose: defaultTranspose(l)}
}

// Check returns an error if kernels with these parameters would not fit the target. It names the field, its value and
// the limit.
func (c *Config) Check(t *target.Target) error {
	l := LimitsOf(t)
	for _, s := range c.sections() {
		if err := s.of.check(l); err != nil {
			return fmt.Errorf("Config.%s.%w", s.name, err)
		}
	}
	return nil
}

// configOf returns the parameters for a group: those of the program, or else the default.
func configOf(g *schedule.Group) (*Config, error) {
	switch c := g.Config.(type) {
	case nil:
		return DefaultConfig(g.Target), nil
	case *Config:
		return c, nil
	default:
		return nil, fmt.Errorf("the configuration is a %T: want a *ops.Config", c)
	}
}

// between returns an error unless the value of a field is in a range. why explains the upper bound.
func between(field string, value, least, most int, why string) error {
	if value < least || value > most {
		return fmt.Errorf("%s is %d: want %d to %d (%s)", field, value, least, most, why)
	}
	return nil
}

// powerOfTwo returns an error unless the value of a field is a power of two in a range.
func powerOfTwo(field string, value, least, most int, why string) error {
	if value < least || value > most || value&(value-1) != 0 {
		return fmt.Errorf("%s is %d: want a power of two from %d to %d (%s)", field, value, least, most, why)
	}
	return nil
}
