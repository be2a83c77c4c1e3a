package tagdata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/wheel"
)

// theirs is what testdata/wheel.py prints.
type theirs struct {
	Registered map[string]map[string]any // the config that a tag was registered with
	Tags       map[string]map[string]any // the target that it is
	Ours       map[string]map[string]any // the target that Apache TVM makes of our config, or an error
}

func askWheel(t *testing.T, configs map[string]map[string]any) (w theirs) {
	t.Helper()
	in, err := json.Marshal(configs)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(wheel.Run(t, bytes.NewReader(in), "testdata/wheel.py")))
	d.UseNumber()
	require.NoError(t, d.Decode(&w))
	return w
}

// differences compares member by member.
func differences(want, got map[string]any) (all []string) {
	keys := maps.Clone(want)
	maps.Copy(keys, got)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		w, wanted := want[key]
		g, is := got[key]
		switch {
		case !is:
			all = append(all, fmt.Sprintf("%s is missing, it is %v", key, w))
		case !wanted:
			all = append(all, fmt.Sprintf("%s is %v, and should not be there", key, g))
		case !reflect.DeepEqual(w, g):
			all = append(all, fmt.Sprintf("%s is %#v, and should be %#v", key, g, w))
		}
	}
	return all
}

// asJSON gives numbers the type that json.Decoder gives them.
func asJSON(t *testing.T, config map[string]any) (decoded map[string]any) {
	t.Helper()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&decoded))
	return decoded
}

func TestTags_AreTheWheels(t *testing.T) {
	tags := all(t)
	configs := map[string]map[string]any{}
	for _, tag := range tags {
		configs[tag.Name] = tag.Config
		if host, ok := tag.Config["host"].(map[string]any); ok {
			delete(host, "system-lib") // an option of older generations, which the wheel refuses
		}
	}
	w := askWheel(t, configs)
	require.Len(t, w.Tags, 287, "the wheel is another one: compare its tags with the data anew")
	require.ElementsMatch(t, slices.Collect(maps.Keys(w.Tags)), slices.Collect(maps.Keys(w.Registered)))

	for name := range w.Tags {
		tag, ok := Find(name)
		if !ok || tag.Name != name {
			t.Errorf("%s is no tag's own name", name)
			continue
		}
		for _, difference := range differences(w.Registered[name], asJSON(t, tag.Config)) {
			t.Errorf("%s: %s", name, difference)
		}
		for _, difference := range differences(w.Tags[name], w.Ours[name]) {
			t.Errorf("%s, as a target: %s", name, difference)
		}
	}
	for name := range configs {
		if target := w.Ours[name]; target["error"] != nil || target["kind"] != configs[name]["kind"] {
			t.Errorf("%s: the wheel makes no target of its config: %v", name, target)
		}
	}
}
