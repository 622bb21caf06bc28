package connectors

import "strings"

// TopicHeader is the header that the sender's word for what happened travels in; "" when it
// stands in the body.
func (c *Connector) TopicHeader() string {
	for _, at := range c.config.Event.Type {
		if name, ok := strings.CutPrefix(at.Path, "header:"); ok {
			return name
		}
	}
	return ""
}
