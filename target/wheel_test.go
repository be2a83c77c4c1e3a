package target_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/must"
	"tvmgo/internal/testing/wheel"
	"tvmgo/target"
)

type object = map[string]any

// wheelCase is input from which both this package and Apache TVM's wheel make a target.
type wheelCase struct {
	given any    // a string, or an object
	host  any    // the second target of NewWithHost; nil: none
	means object // the object that a random text describes; else nil
}

func (c wheelCase) String() string { return fmt.Sprintf("%s host %s", asText(c.given), asText(c.host)) }

// askWheel runs all cases in one Python process, in order. GPUs of this machine are hidden from it.
func askWheel(t testing.TB, questions []any) []object {
	t.Helper()
	cmd := wheel.Command(t, "testdata/wheel.py")
	cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES=")
	v := must.Get(plainValue(wheel.Output(t, cmd, strings.NewReader(asText(questions)))))(t)
	var answers []object
	for _, a := range v.([]any) {
		answers = append(answers, a.(object))
	}
	require.Len(t, answers, len(questions))
	return answers
}

func (c wheelCase) question(given, host any) any {
	if host != nil {
		return object{"$target": given, "$host": host}
	}
	return given
}

// ours makes the target with this package. Objects are passed alternately as JSON text and as maps.
func (c wheelCase) ours(asMap bool) (object, error) {
	x := c.given
	if o, ok := x.(object); ok && !asMap {
		x = []byte(asText(o))
	} else if ok {
		x = asGo(deepCopy(o))
	}
	var got *target.Target
	var err error
	if c.host != nil {
		got, err = target.NewWithHost(x, c.host)
	} else {
		got, err = target.New(x)
	}
	return answerOf(got, err), err
}

func TestWheel_Agrees(t *testing.T) {
	quiet(t)
	wheel.NeedSameMachine(t)
	cases := wheelCases(t)
	require.Greater(t, len(cases), 600)
	type rewritten struct {
		given, host any
		by          []string
	}
	var questions []any
	var others []rewritten
	for _, c := range cases {
		r := rewritten{deepCopy(c.given), deepCopy(c.host), nil}
		if c.means != nil {
			r.given = deepCopy(c.means)
			if !strings.HasPrefix(c.given.(string), "{") {
				r.by = []string{"command line"}
			}
		}
		for _, d := range differences {
			if d.rewrite == nil {
				continue
			}
			changed := false
			for _, x := range []*any{&r.given, &r.host} {
				if d.rewriteText != nil {
					if s, ok := (*x).(string); ok {
						if n := d.rewriteText(s); n != s {
							*x, changed = n, true
						}
					}
				}
				eachTarget(*x, func(o object) { changed = d.rewrite(o) || changed })
			}
			if changed {
				r.by = append(r.by, d.name)
			}
		}
		others = append(others, r)
		questions = append(questions, c.question(c.given, c.host), c.question(r.given, r.host))
	}
	answers := askWheel(t, questions)

	shown := map[string]int{}
	made, refused := 0, 0
	for i, c := range cases {
		r, plain, theirs := others[i], answers[2*i], answers[2*i+1]
		ours, err := c.ours(i%2 == 0)
		if !reflect.DeepEqual(plain, theirs) {
			for _, name := range r.by {
				shown[name]++
			}
		}
		if theirs["error"] != nil {
			refused++
			var e *target.Error
			if err == nil {
				t.Errorf("%s\n  tvmgo: %s\n  wheel: %s", c, asText(ours), theirs["error"])
			} else if !errors.As(err, &e) || e.Err == nil {
				t.Errorf("%s: the error has no kind: %v", c, err)
			}
			continue
		}
		var sorts []error
		for _, d := range differences {
			if d.refuse == nil {
				continue
			}
			no := false
			for _, x := range []any{r.given, r.host} {
				eachTarget(x, func(o object) { no = d.refuse(o) || no })
			}
			if no {
				shown[d.name]++
				sorts = append(sorts, d.sort)
			}
		}
		if len(sorts) > 0 {
			refused++
			if !slices.ContainsFunc(sorts, func(sort error) bool { return errors.Is(err, sort) }) {
				t.Errorf("%s\n  tvmgo: %s\n  should be refused: %v", c, asText(ours), sorts)
			}
			continue
		}
		made++
		want := deepCopy(theirs).(object)
		adjust := func(answer object, config any) {
			for _, d := range differences {
				if d.adjust != nil && d.adjust(answer, config) {
					shown[d.name]++
				}
			}
		}
		if r.host != nil {
			host := want["host"].(object)
			want["host"] = nil
			eachAnswer(want, r.given, adjust)
			eachAnswer(host, r.host, adjust)
			want["host"] = host
			adjust(want, r.given) // once more, because members get the host
		} else {
			eachAnswer(want, r.given, adjust)
		}
		if !reflect.DeepEqual(want, ours) {
			t.Errorf("%s\n  tvmgo: %s\n  wheel: %s\n  want:  %s", c, asText(ours), asText(theirs), asText(want))
		}
	}
	t.Logf("%d cases: %d targets, %d errors; intended differences: %v", len(cases), made, refused, shown)
	for _, d := range differences {
		if shown[d.name] == 0 {
			t.Errorf("no case shows the difference %q", d.name)
		}
		require.NotEmpty(t, d.why, d.name)
	}
	require.Greater(t, made, len(cases)/3)
	require.Greater(t, refused, len(cases)/10)
}

// TestWheel_Kinds compares the table of kinds with the wheel's.
func TestWheel_Kinds(t *testing.T) {
	const script = `
import json
from tvm.target import Target, TargetKind
print(json.dumps({str(k): {str(n): str(t) for n, t in TargetKind.options_from_name(k).items()}
                  for k in Target.list_kinds()}))`
	out := wheel.Run(t, nil, "-c", script)
	var theirs map[string]map[string]string
	require.NoError(t, json.Unmarshal(out, &theirs))
	ours := map[string]bool{}
	for _, row := range kindRows {
		if row.only == "classic" {
			require.NotContains(t, theirs, row.name)
			continue
		}
		ours[row.name] = true
		want := maps.Clone(theirs[row.name])
		for _, o := range append(optionRows(t, everyKind), row.rows(t)...) {
			if o.name == "system-lib" || onlyHere(row.name, o.name) {
				require.NotContains(t, want, o.name)
				continue
			}
			require.Contains(t, want, o.name, row.name)
			delete(want, o.name)
		}
		require.Empty(t, want, "%s has further options", row.name)
	}
	require.Len(t, ours, len(theirs))
}
