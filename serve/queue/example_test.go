package queue_test

import (
	"context"
	"fmt"

	"tvmgo/serve/queue"
)

// A worker squares numbers, up to eight at once.
func Example() {
	square := func(batch []*queue.Item[int, int]) {
		for _, it := range batch {
			it.Answer(it.In * it.In)
		}
	}
	q, err := queue.New(queue.Config{Capacity: 100, MaxRows: 8}, queue.Functions[int, int]{
		Workers: []func([]*queue.Item[int, int]){square},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer q.Close()
	result, _, err := q.Do(context.Background(), queue.Request[int]{In: 7, Key: "int", Rows: 1})
	fmt.Println(result, err)
	// Output: 49 <nil>
}
