package bench

import (
	"time"

	"tvmgo/bench/stats"
)

// Schema is the version of a report's JSON. The schema itself is report.schema.json.
const Schema = "tvmgo-bench/1"

// Report is the result of a run. It marshals to JSON.
type Report struct {
	Schema   string        `json:"schema"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	Machine  Machine       `json:"machine"`
	Config   Config        `json:"config"`
	Devices  []DeviceInfo  `json:"devices"`
	Rows     []*Row        `json:"rows"`
	Ended    string        `json:"ended_early,omitempty"` // why the run is incomplete, as "interrupted"
	Baseline *Baseline     `json:"baseline,omitempty"`
}

// Machine describes where a report comes from.
type Machine struct {
	Name     string `json:"name"` // of the host
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	Memory   int64  `json:"memory_bytes"`
	OS       string `json:"os"`
	Governor string `json:"governor,omitempty"`
	Load     string `json:"load,omitempty"` // of the last minute, when the run began
	Version  string `json:"version"`        // of tvmgo
}

// DeviceInfo describes a device in a report.
type DeviceInfo struct {
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	Facts Facts  `json:"facts,omitempty"`

	Sensor string `json:"sensor_error,omitempty"` // why there are no more readings of the sensor
}

// Status says whether a row was measured.
type Status string

// The states of a row.
const (
	Measured    Status = "measured"
	NotMeasured Status = "not measured" // does not apply; Reason says why
	Wrong       Status = "wrong result" // was not timed
	Failed      Status = "failed"       // Reason has the error; samples taken before are kept
	Interrupted Status = "interrupted"  // the run ended first; samples taken before are kept
)

// Row is a variant of a case on a device.
type Row struct {
	Suite   string `json:"suite"`
	Case    string `json:"case"`
	Device  string `json:"device"`
	Variant string `json:"variant,omitempty"` // "" is ours, else a library

	Status  Status `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Checked string `json:"checked,omitempty"` // how the result was verified

	Figure Figure `json:"figure"`
	Unit   string `json:"unit"`
	Amount Amount `json:"amount"`

	Clock   string    `json:"clock,omitempty"`      // which times Samples has: "device timer" or "wall time"
	Calls   int       `json:"calls,omitempty"`      // operations of each sample
	Samples []float64 `json:"samples_ns,omitempty"` // of one operation, in the order of the rounds
	Wall    []float64 `json:"wall_ns,omitempty"`    // the same samples by the wall clock, if Samples has the device's time
	Rounds  []int     `json:"rounds,omitempty"`     // the round of each sample from 0; nil if none is missing
	Dropped int       `json:"dropped,omitempty"`    // rounds without a valid time: clock set back, timer with no result

	Warmup Warmup `json:"warm_up"`

	Times *stats.Summary  `json:"times_ns,omitempty"` // of Samples
	Value float64         `json:"value,omitempty"`    // the figure at the median time, in Unit
	Range *stats.Interval `json:"range,omitempty"`    // confidence interval of Value

	// Ratio is the time of this row relative to that of the first measured row of its case: its ours on the first
	// device of the run. Less than 1 is faster.
	Ratio *Ratio `json:"ratio,omitempty"`

	Shares     []Share     `json:"shares,omitempty"` // of limits measured in this run
	Roofline   *Roofline   `json:"roofline,omitempty"`
	Facts      Facts       `json:"facts,omitempty"`
	Conditions *Conditions `json:"conditions,omitempty"`
	Change     *Change     `json:"change,omitempty"` // since the baseline

	Limits []string `json:"limits,omitempty"` // of the case
	Family string   `json:"family,omitempty"` // of the case
}

// ID returns what identifies a row in a report, "kernels/add on cuda:0", with the variant if it is not ours.
func (r *Row) ID() string {
	id := r.Suite + "/" + r.Case + " on " + r.Device
	if r.Variant != "" {
		id += " by " + r.Variant
	}
	return id
}

// NotVerified begins Row.Checked if there was nothing to compare a result with.
const NotVerified = "not verified"

// Warmup says how a row reached its stable speed before samples were taken.
type Warmup struct {
	Samples int           `json:"samples"`
	Took    time.Duration `json:"took_ns"`
	Stable  bool          `json:"stable"` // false: the time for it ended first
}

// Ratio compares a row with another one of the same case.
type Ratio struct {
	To    string `json:"to"`              // the ID of the other row
	Clock string `json:"clock,omitempty"` // of both times: the wall clock, unless both rows have a device timer
	stats.Interval
}

// Share is the part of a limit that a row reaches.
type Share struct {
	Of    string  `json:"of"`    // the ID of the row that is the limit, or of a library's on the same device
	Share float64 `json:"share"` // 1 is the limit
}

// Roofline places a row by its arithmetic intensity.
type Roofline struct {
	Intensity float64 `json:"ops_per_byte"`
	Bound     string  `json:"bound"` // "compute" or "memory": which limit is lower at this intensity
	Limit     float64 `json:"limit"` // the lower limit, in Gops/s
	Share     float64 `json:"share"`
}

// Conditions are the readings of a device's sensor while a row was measured. A nil range is unknown.
type Conditions struct {
	ClockMHz       *Range   `json:"clock_mhz,omitempty"`
	MemoryClockMHz *Range   `json:"memory_clock_mhz,omitempty"`
	Celsius        *Range   `json:"celsius,omitempty"`
	Watts          *Range   `json:"watts,omitempty"`
	Throttled      []string `json:"throttled,omitempty"`
}

// Range holds the smallest and the largest value.
type Range struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Baseline names the older report with which a report was compared.
type Baseline struct {
	File     string    `json:"file"`
	Started  time.Time `json:"started"`
	Warnings []string  `json:"warnings,omitempty"` // as another machine, driver or clock
	Missing  []string  `json:"missing,omitempty"`  // the IDs of rows that were measured only then
}

// Change is the change of a row since the baseline.
type Change struct {
	stats.Change
	Verdict Verdict `json:"verdict"`
}

// Verdict says what has changed in a row since the baseline.
type Verdict = string

// The verdicts.
const (
	Faster       Verdict = "faster" // beyond noise, and by more than Config.Relevant
	Slower       Verdict = "slower"
	Same         Verdict = "same"
	New          Verdict = "new"            // was not measured then
	Broken       Verdict = "broken"         // was measured then, and now fails or is wrong
	Incomparable Verdict = "not comparable" // another amount of work, or no clock that both have
)
