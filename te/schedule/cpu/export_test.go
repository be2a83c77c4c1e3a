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

func NewSIMD(bytes, registers int) SIMD { return simd{bytes, registers} }
