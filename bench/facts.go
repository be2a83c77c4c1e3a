package bench

import (
	"fmt"
	"math"
	"reflect"
)

// plain returns the facts as JSON has them: numbers are float64, and what is neither a number, a string nor a boolean
// is text. A number that is infinite or not a number is left out. It is nil if nothing remains.
func (f Facts) plain() Facts {
	out := Facts{}
	for name, value := range f {
		v := reflect.ValueOf(value)
		switch {
		case value == nil:
		case v.Kind() == reflect.Bool:
			out[name] = v.Bool()
		case v.Kind() == reflect.String:
			out[name] = v.String()
		case v.CanInt():
			out[name] = float64(v.Int())
		case v.CanUint():
			out[name] = float64(v.Uint())
		case v.CanFloat():
			if x := v.Float(); !math.IsNaN(x) && !math.IsInf(x, 0) {
				out[name] = x
			}
		default:
			out[name] = fmt.Sprint(value)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
