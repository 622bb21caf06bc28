package connectors

// address is the URL as the sender knows it: the one it was given, where the config tells
// it, with the query that came.
func (c *Connector) address(r Request) string {
	if c.config.Address == "" {
		return r.URL
	}
	if r.RawQuery == "" {
		return c.config.Address
	}
	return c.config.Address + "?" + r.RawQuery
}
