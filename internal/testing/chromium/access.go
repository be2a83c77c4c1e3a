package chromium

import (
	"context"
	"strings"

	"github.com/chromedp/chromedp"
)

// Node is an element as screen readers know it.
type Node struct{ Role, Name string }

// Accessible returns the elements of a page that screen readers know. Their names have no space around them.
func (b *Tab) Accessible() (nodes []Node) {
	b.t.Helper()
	type value struct {
		Value any `json:"value"`
	}
	var tree struct {
		Nodes []struct {
			Ignored bool  `json:"ignored"`
			Role    value `json:"role"`
			Name    value `json:"name"`
		} `json:"nodes"`
	}
	b.Run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		return chromedp.FromContext(ctx).Target.Execute(ctx, "Accessibility.getFullAXTree", nil, &tree)
	}))
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role, _ := n.Role.Value.(string)
		name, _ := n.Name.Value.(string)
		nodes = append(nodes, Node{role, strings.TrimSpace(name)})
	}
	return nodes
}
