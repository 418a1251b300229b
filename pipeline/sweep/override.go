package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Override returns the text of a sweep file in which values are replaced. A change is KEY=VALUE: a path such as
// problem.domain or grids.0.n, and a value in YAML. A file that is not a mapping is returned unchanged, for [Read] to
// report.
func Override(src []byte, changes []string) ([]byte, error) {
	root := (&checker{NewReporter(&File{})}).load(src)
	if len(changes) == 0 || root == nil || root.Kind != yaml.MappingNode {
		return src, nil
	}
	for _, change := range changes {
		path, text, ok := strings.Cut(change, "=")
		if !ok || path == "" {
			return nil, fmt.Errorf("%q: a change of the sweep file has the form KEY=VALUE, as in seed=2", change)
		}
		value := (&checker{NewReporter(&File{})}).load([]byte(text))
		if value == nil {
			return nil, fmt.Errorf("%q: %q is not a value in YAML", change, text)
		}
		if err := replace(root, strings.Split(path, "."), value); err != nil {
			return nil, fmt.Errorf("%q: %w", change, err)
		}
	}
	return yaml.Marshal(root)
}

// replace sets the value at a path below a node. It adds keys that are missing.
func replace(n *yaml.Node, path []string, value *yaml.Node) error {
	var at **yaml.Node
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == path[0] {
				at = &n.Content[i+1]
			}
		}
		if at == nil {
			key := &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]}
			n.Content = append(n.Content, key, &yaml.Node{Kind: yaml.MappingNode})
			at = &n.Content[len(n.Content)-1]
		}
	case yaml.SequenceNode:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(n.Content) {
			return fmt.Errorf("%q is not one of the items 0 to %d of the list", path[0], len(n.Content)-1)
		}
		at = &n.Content[i]
	default:
		return fmt.Errorf("there is no key %q below a value", path[0])
	}
	if len(path) == 1 {
		*at = value
		return nil
	}
	return replace(*at, path[1:], value)
}
