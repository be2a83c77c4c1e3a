package tagdata

import "testing"

// all returns every tag, sorted by name.
func all(t testing.TB) []Tag {
	t.Helper()
	var tags []Tag
	for _, name := range Names() {
		tag, ok := Find(name)
		if !ok {
			t.Fatalf("there is no tag %q", name)
		}
		tags = append(tags, tag)
	}
	return tags
}
