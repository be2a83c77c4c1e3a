package page

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tvmgo/bench"
	"tvmgo/bench/facts"
	"tvmgo/bench/stats"
)

// none stands for a value that is missing.
const none = "–"

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// number returns a value with four significant digits: "0.08315", "128.4", "67312", "1.5e-09". Integers below 1e7 keep
// their digits.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case !finite(v):
		return none
	case a == 0:
		return "0"
	case a < 1e-3 || a >= 1e7:
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	exponent := int(math.Floor(math.Log10(a)))
	text := strconv.FormatFloat(v, 'f', max(3-exponent, 0), 64)
	if rounded, _ := strconv.ParseFloat(text, 64); math.Abs(rounded) >= math.Pow(10, float64(exponent+1)) {
		text = strconv.FormatFloat(v, 'f', max(2-exponent, 0), 64) // 9.9996 is 10.00
	}
	return text
}

// percent returns a share, 1 for 100 %, without its sign: "61", "0.4".
func percent(v float64) string {
	switch a := math.Abs(v * 100); {
	case !finite(v):
		return none
	case a != 0 && a < 0.05:
		return "0.0"
	case a < 9.95:
		return strconv.FormatFloat(v*100, 'f', 1, 64)
	case a < 1e5:
		return strconv.FormatFloat(v*100, 'f', 0, 64)
	}
	return strconv.FormatFloat(v*100, 'e', 1, 64)
}

// spread returns the larger distance of an interval's ends from its value, relative to the value; ok is false if there
// is no interval, or one without any probability, as of one sample.
func spread(i *stats.Interval) (of float64, ok bool) {
	if i == nil || i.Value == 0 || !finite(i.Low) || !finite(i.High) || !finite(i.Value) || i.Confidence == 0 ||
		i.Low > i.Value || i.High < i.Value || i.Coverage <= 0 {
		return 0, false
	}
	return max(i.High-i.Value, i.Value-i.Low) / math.Abs(i.Value), true
}

// micros returns a time in µs of one in nanoseconds.
func micros(ns float64) string { return number(ns / 1e3) }

// bytesText returns a size in binary units: "15.6 GiB"; "" of none.
func bytesText(n int64) string {
	if n <= 0 {
		return ""
	}
	v, units := float64(n), []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + units[i]
}

// took returns a duration in the two largest of its units.
func took(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// factText returns the value of a fact with its unit, in at most six digits; lists and maps as JSON.
func factText(name string, v any) string {
	switch v := v.(type) {
	case nil:
		return none
	case float64:
		if !finite(v) {
			return none
		}
		if v != math.Trunc(v) {
			short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
			return facts.Text(name, short)
		}
	case []any, map[string]any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	return facts.Text(name, v)
}

// machine returns the parts of a machine's description, and the version of tvmgo.
func machine(m bench.Machine) (parts []string) {
	add := func(format, v string) {
		if v != "" {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add("%s", m.CPU)
	if m.Cores > 0 {
		parts = append(parts, plural(m.Cores, "core"))
	}
	add("%s", bytesText(m.Memory))
	add("%s", m.OS)
	add("governor %s", m.Governor)
	add("load %s", m.Load)
	return parts
}

func plural(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// confidence returns the confidence of a report's intervals: "95 %".
func confidence(r *bench.Report) string {
	c := r.Config.Confidence
	if !(c > 0 && c < 1) {
		c = 0.95
	}
	return strconv.FormatFloat(100*c, 'g', 6, 64) + " %"
}
