package config

import (
	"fmt"
	"net/netip"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Networks are networks and single addresses.
type Networks []netip.Prefix

// DecodeYAML reads one network or a list; an address alone is a network of one.
func (ns *Networks) DecodeYAML(n *yamlpos.Node) {
	var items []*yamlpos.Node
	n.Decode(&items)
	for _, item := range items {
		if item.Kind() != yamlpos.Scalar {
			item.Report("wants a network, has "+item.Kind().String(), "write 10.0.0.0/8 or an address")
			continue
		}
		p, err := parseNetwork(item.Text())
		if err != nil {
			item.Report(err.Error(), "write 10.0.0.0/8, 2001:db8::/32 or an address")
			continue
		}
		if p.Bits() == 0 {
			item.Warn("trusts everybody: any sender can claim any address", "name the proxy's own network")
		}
		*ns = append(*ns, p)
	}
}

func parseNetwork(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("%q is no network and no address", text)
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

// Schema describes one or a list to editors.
func (Networks) Schema() map[string]any {
	one := map[string]any{"type": "string"}
	return map[string]any{"anyOf": []any{one, map[string]any{"type": "array", "items": one}}}
}
