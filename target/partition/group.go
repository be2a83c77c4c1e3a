package partition

import "sort"

// grouping puts the operations of one member into groups, one operation after the other, each behind those that it
// uses.
//
// An operation may join a group unless a third group would have to run both after and before it. One that may join no
// group of its member starts a new one; so every earlier group of that member has to run before the new one with others
// in between, now and for good. It follows that the groups of a member form a chain, that no two of them could be
// merged in the end, and that what has to run before a group is known by one number for each member: how much of that
// member's chain.
type grouping struct {
	members int
	of      []int32   // by operation: its group
	member  []int32   // by group
	place   []int32   // by group: in its member's chain, from 1 on
	chains  [][]int32 // by member: its groups
	// by group and member: how many of the member's groups have to run before this group, itself not counted
	before []int32
	users  [][]int32 // by group: those that use its results
	edges  map[[2]int32]struct{}
}

// groups gives every operation its group; member says whose each operation is, of so many.
func groups(f *flow, member []int32, members int) *grouping {
	g := &grouping{members: members, of: make([]int32, len(member)), chains: make([][]int32, members),
		edges: map[[2]int32]struct{}{}}
	var used []int32
	for i := range member {
		used = used[:0]
		for _, j := range f.uses[i] {
			used = append(used, g.of[j])
		}
		g.put(int32(i), member[i], used)
	}
	return g
}

// done is how many of a member's groups have to run before group x.
func (g *grouping) done(x int32, member int32) int32 { return g.before[int(x)*g.members+int(member)] }

func (g *grouping) put(op, member int32, used []int32) {
	chain, open := g.chains[member], int32(0) // the groups from place open+1 on may be joined
	for _, u := range used {
		open = max(open, g.done(u, member))
	}
	if int(open) == len(chain) {
		chain = append(chain, int32(len(g.place)))
		g.chains[member] = chain
		g.member = append(g.member, member)
		g.place = append(g.place, open+1)
		g.users = append(g.users, nil)
		g.before = append(g.before, make([]int32, g.members)...)
	}
	// The first group that waits for all of used anyhow; if there is none, the last one, which the fewest wait for.
	free := sort.Search(len(chain)-int(open)-1, func(i int) bool { return g.waits(chain[int(open)+i], used) })
	x := chain[int(open)+free]
	g.of[op] = x
	for _, u := range used {
		if u != x {
			g.after(x, u)
		}
	}
}

// waits reports whether group x runs after all of used as it is. What a group waits for, those behind it in the chain
// wait for, too.
func (g *grouping) waits(x int32, used []int32) bool {
	for _, u := range used {
		if u != x && g.done(x, g.member[u]) < g.place[u] {
			return false
		}
	}
	return true
}

// after makes group x wait for group u, and with it all that wait for x.
func (g *grouping) after(x, u int32) {
	if _, known := g.edges[[2]int32{u, x}]; known {
		return
	}
	g.edges[[2]int32{u, x}] = struct{}{}
	g.users[u] = append(g.users[u], x)
	if !g.raise(x, u) {
		return
	}
	for changed := []int32{x}; len(changed) > 0; {
		last := len(changed) - 1
		u, changed = changed[last], changed[:last]
		for _, v := range g.users[u] {
			if g.raise(v, u) {
				changed = append(changed, v)
			}
		}
	}
}

// raise adds to what has to run before x group u and all that has to run before it; false if that is no news.
func (g *grouping) raise(x, u int32) (news bool) {
	mine, theirs := g.before[int(x)*g.members:][:g.members], g.before[int(u)*g.members:][:g.members]
	for m, n := range theirs {
		if n > mine[m] {
			mine[m], news = n, true
		}
	}
	if m := g.member[u]; g.place[u] > mine[m] {
		mine[m], news = g.place[u], true
	}
	return news
}
