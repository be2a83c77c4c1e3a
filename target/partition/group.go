package partition

import "sort"

// grouping assigns the operations of each member to groups, one operation after the other; an operation comes after
// those that it uses.
//
// An operation can join a group unless a third group would then have to run both after and before it. If it cannot join
// any group of its member, it starts a new group. Every earlier group of that member then has to run before the new
// one, with other groups in between, whatever is added later. Therefore the groups of a member form a chain, no two of
// them could be merged in the end, and the set of groups that have to run before a group is described by one number for
// each member: how many groups of that member's chain, from its start.
type grouping struct {
	members  int
	of       []int32   // by operation: its group
	member   []int32   // by group
	position []int32   // by group: its position in its member's chain, from 1 on
	chains   [][]int32 // by member: its groups
	// by group and member: the number of the member's groups that have to run before this group, without the group itself
	before []int32
	users  [][]int32 // by group: the groups that use its results
	edges  map[[2]int32]struct{}
}

// groups assigns every operation to a group; member is the member of each operation, and members the number of members.
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

// done returns how many of a member's groups have to run before group x.
func (g *grouping) done(x int32, member int32) int32 { return g.before[int(x)*g.members+int(member)] }

func (g *grouping) put(op, member int32, used []int32) {
	chain, open := g.chains[member], int32(0) // the operation can join the groups from position open+1 on
	for _, u := range used {
		open = max(open, g.done(u, member))
	}
	if int(open) == len(chain) {
		chain = append(chain, int32(len(g.position)))
		g.chains[member] = chain
		g.member = append(g.member, member)
		g.position = append(g.position, open+1)
		g.users = append(g.users, nil)
		g.before = append(g.before, make([]int32, g.members)...)
	}
	// The first group that depends on all of used already; if there is none, the last, on which the fewest depend.
	free := sort.Search(len(chain)-int(open)-1, func(i int) bool { return g.waits(chain[int(open)+i], used) })
	x := chain[int(open)+free]
	g.of[op] = x
	for _, u := range used {
		if u != x {
			g.after(x, u)
		}
	}
}

// waits reports whether group x already runs after all of used. The groups after x in its chain depend on whatever x
// depends on.
func (g *grouping) waits(x int32, used []int32) bool {
	for _, u := range used {
		if u != x && g.done(x, g.member[u]) < g.position[u] {
			return false
		}
	}
	return true
}

// after makes group x, and all groups that depend on x, depend on group u.
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

// raise adds group u, and all groups that have to run before u, to those that have to run before group x; false if they
// were there already.
func (g *grouping) raise(x, u int32) (news bool) {
	mine, theirs := g.before[int(x)*g.members:][:g.members], g.before[int(u)*g.members:][:g.members]
	for m, n := range theirs {
		if n > mine[m] {
			mine[m], news = n, true
		}
	}
	if m := g.member[u]; g.position[u] > mine[m] {
		mine[m], news = g.position[u], true
	}
	return news
}
