package cpu

// SIMD and the functions below are for the tests of this package, which use package te/ops.
type SIMD = simd

const (
	PackFrom = packFrom
	ThinRows = thinRows
)

var (
	ScheduleFor = scheduleFor
	Schedule    = scheduleCPU
)

func NewSIMD(bytes, registers int) SIMD { return simd{bytes: bytes, registers: registers} }

// WithDots returns vectors of bytes whose products are added by a single instruction, or by several.
func WithDots(v SIMD, one bool) SIMD {
	v.dots, v.oneDot = true, one
	return v
}
