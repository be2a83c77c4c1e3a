package tagdata

import (
	"fmt"
	"maps"
)

// merge reads and merges both parts of a config.
func (c configs) merge() (map[string]any, error) {
	config, err := parseConfig(c.common)
	if err != nil {
		return nil, fmt.Errorf("the config of its group: %w", err)
	}
	own, err := parseConfig(c.own)
	if err != nil {
		return nil, fmt.Errorf("the config of its row: %w", err)
	}
	maps.Copy(config, own)
	return config, nil
}

func parseConfig(text string) (map[string]any, error) {
	if text == "" {
		return map[string]any{}, nil
	}
	r := newReader(text)
	config, _ := r.Value().(map[string]any)
	return config, r.End()
}
