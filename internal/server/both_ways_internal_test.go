package server

import (
	"context"
	"net/http"
	"net/url"
)

// A Call asks a route as a program in Go does.
type Call func(ctx context.Context, c *Client, path map[string]string, query url.Values, body []byte) (any, error)

type callable interface {
	registered
	call(ctx context.Context, c *Client, q *asked) (any, error)
}

func (o *Operation[In, Out]) call(ctx context.Context, c *Client, q *asked) (any, error) {
	in, err := readAsked[In](&o.Route, q)
	if err != nil {
		return nil, err
	}
	return o.Call(ctx, c, in)
}

func (s *Stream[In, Row]) call(ctx context.Context, c *Client, q *asked) (any, error) {
	in, err := readAsked[In](&s.Route, q)
	if err != nil {
		return nil, err
	}
	rows := []Row{}
	err = s.Each(ctx, c, in, func(row *Row) error { rows = append(rows, *row); return nil })
	return rows, err
}

// CallOf is the call of a route of the table.
func CallOf(rt *Route) Call {
	for _, one := range table {
		if one.route().action() == rt.action() {
			return func(ctx context.Context, c *Client, path map[string]string, query url.Values, body []byte) (any, error) {
				return one.(callable).call(ctx, c, &asked{texts: texts{path, query, http.Header{}}, body: func() ([]byte, error) { return body, nil }})
			}
		}
	}
	return nil
}
