// Package queue has a bounded queue with priorities, from which workers take batches. It is generic over the inputs and
// results, and knows nothing of models: a worker is a function that answers a batch of items, usually with one device.
//
// Do puts an item into the queue and returns its result. It fails at once with ErrFull if too many items wait; with the
// error of its context as soon as that ends, whether the item waits or runs; with ErrTimeout if the item does not start
// in time; and with ErrClosed after Close or Drain. A worker does not get an item whose time is over.
//
// # Order
//
// A worker that becomes free takes a batch that begins with the oldest item of the highest level. Priorities are
// strict, as those of NVIDIA's Triton are: low levels can starve while higher ones keep all workers busy, so give their
// items a timeout. A batch that runs is never interrupted.
//
// # Batches
//
// Items with equal keys may run in one batch; an item with the key "" runs alone. The first item of a batch determines
// its key. Other items with that key join in order: by level, then by arrival, until one does not fit. So items with
// equal keys and levels never overtake each other. They may overtake items with other keys, but only within a batch
// that begins with an older item or one of a higher level, for which the overtaken item had to wait anyway: within a
// level, no item waits for more batches than there are older items.
//
// A batch has at most Config.MaxRows rows. An item with more rows, or with none, runs alone.
//
// A batch starts if it has MaxRows rows, or the next item with its key does not fit. Otherwise, if its first items have
// a number of rows that is in Config.Preferred, they start: those with the largest such number. Otherwise it waits for
// more items, at most Config.Delay after the arrival of its first item, and at most half of the time that one of its
// items has. It waits only while there is nothing else to do: as long as there is an idle worker for each key that
// waits, and the queue is not full.
package queue
