package target_test

import (
	"encoding/json"
	"fmt"

	"tvmgo/target"
)

// An editor that has the schema completes and checks configurations.
func ExampleSchema() {
	text, err := target.Schema("cuda")
	if err != nil {
		panic(err)
	}
	var schema struct {
		Title string
		Defs  map[string]struct {
			Properties map[string]json.RawMessage
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		panic(err)
	}
	var warp struct {
		Type    string
		Minimum int
		Default int
	}
	if err := json.Unmarshal(schema.Defs["kind.cuda"].Properties["thread_warp_size"], &warp); err != nil {
		panic(err)
	}
	fmt.Println(schema.Title)
	fmt.Println("thread_warp_size:", warp.Type, "from", warp.Minimum, "default", warp.Default)
	// Output:
	// target of kind cuda
	// thread_warp_size: integer from 1 default 32
}
