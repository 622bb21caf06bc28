package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nudgewire/nudgewire/internal/app"
	api "github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// mostPage is how long a page may take at the server, for 95 of 100.
const mostPage = 300 * time.Millisecond

// pageTimes is how often each page is asked for.
const pageTimes = 50

// hourly are counts of 400 days and a hundred names: as many as rows are copied.
var hourly = columns{"hour": "one.hour - i % 9600", "name": "'trigger-' || (i / 9600)", "what": "'accepted'", "about": "'trigger'"}

// pagesOver are the pages and the lists that are asked for. A phone and numbers are those of a row in the middle.
func pagesOver(rows int) []string {
	n := strconv.Itoa(rows / 2)
	phone := phoneHead + strconv.Itoa(199_999_999 - rows/2)[1:]
	base := api.Base
	return []string{
		"/", "/?range=24h", "/?range=30d", "/events", "/events?connector=shopify", "/events?connector=nobody", "/events?kind=cart.updated", "/events?kind=order.paid",
		"/events?phone=%2B" + phone, "/events?since=24h", "/events?before=" + n, "/events/" + n, "/events/rejected",
		"/messages", "/messages?state=waiting", "/messages?state=delivered", "/messages?state=failed", "/messages?state=rejected", "/messages?state=read",
		"/messages?state=accepted", "/messages?trigger=abandoned-cart", "/messages?trigger=nobody", "/messages?phone=%2B" + phone, "/messages?before=" + n,
		"/messages?trigger=abandoned-cart&state=failed", "/messages?since=24h", "/messages/" + n, "/people?phone=%2B" + phone, "/triggers", "/triggers/abandoned-cart", "/triggers/abandoned-cart?range=30d",
		"/jobs", "/playground", "/config", "/system", "/audit", "/report.csv?range=30d&group=trigger",
		base + "/status", base + "/events", base + "/messages?limit=500", base + "/messages?state=failed", base + "/report?by=day&group=trigger", base + "/report?by=hour", base + "/calendar",
		base + "/runs", base + "/errors", base + "/blocks", base + "/requests/rejected", base + "/why?phone=" + phone,
	}
}

// writePages asks each page and list so often, over so many events and messages, on those engines that match, and writes how long they took. An error
// is one that took too long.
func (l *lab) writePages(ctx context.Context, out io.Writer, only *regexp.Regexp, rows, times int) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "where\tpage\tstatus\tbytes\tp50 ms\tp95 ms\tlongest ms")
	f := fixture{name: "pages", rows: rows, tables: map[string]columns{
		"events": events, "decisions": byEvent, "messages": messages, "hourly_counts": hourly,
	}}
	var slow []string
	for _, where := range []struct {
		name  string
		nodes int
	}{{"SQLite", onSQLite}, {"PostgreSQL", 1}} {
		if !only.MatchString(where.name) || where.nodes > 0 && l.server == nil {
			continue
		}
		dir, err := os.MkdirTemp(l.dir, "pages-")
		if err != nil {
			return err
		}
		err = l.pages(ctx, dir, where.nodes, f, times, func(path string, status, size int, took []time.Duration) {
			slices.Sort(took)
			of := func(part float64) time.Duration { return took[int(part*float64(len(took)-1))] }
			fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%.1f\t%.1f\t%.1f\n", where.name, path, status, size, milliseconds(of(0.5)), milliseconds(of(0.95)), milliseconds(took[len(took)-1]))
			if of(0.95) > mostPage {
				slow = append(slow, where.name+" "+path)
			}
		})
		if err := errors.Join(err, l.dropDatabases(context.WithoutCancel(ctx)), os.RemoveAll(dir)); err != nil {
			return fmt.Errorf("pages of %s: %w", where.name, err)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(slow) > 0 {
		return fmt.Errorf("95 of 100 take longer than %v: %s", mostPage, strings.Join(slow, ", "))
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// pages runs a daemon over a fixture and asks it for each page, signed in.
func (l *lab) pages(ctx context.Context, dir string, nodes int, f fixture, times int, tell func(path string, status, size int, took []time.Duration)) (err error) {
	at, err := l.place(ctx, dir, nodes, f)
	if err != nil {
		return err
	}
	at.storage += "\nconsole: {listen: \"127.0.0.1:0\"}"
	config, err := l.nodeConfig(at, 0, later)
	if err != nil {
		return err
	}
	a, err := newApp(ctx, config, nil)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-ended)
	}()
	link, err := api.LinkToConsole.Call(ctx, api.Dial(app.SocketPath(a.Storage())), signin.LinkRequest{})
	if err != nil {
		return err
	}
	client, base, err := signedIn(ctx, link.URL)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	for _, path := range pagesOver(f.rows) {
		var took []time.Duration
		var status, size int
		for len(took) < times {
			began := time.Now()
			var wait bool
			if status, size, wait, err = get(ctx, client, base+path); err != nil {
				return err
			}
			if wait { // one session may ask only so often
				time.Sleep(time.Second)
				continue
			}
			took = append(took, time.Since(began))
		}
		tell(path, status, size, took)
	}
	return nil
}

// signedIn is a browser that used the link.
func signedIn(ctx context.Context, link string) (client *http.Client, base string, err error) {
	u, err := url.Parse(link)
	if err != nil {
		return nil, "", err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, "", err
	}
	client = &http.Client{Jar: jar, Timeout: patience}
	base = "http://" + u.Host
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+u.Path, strings.NewReader(url.Values{"link": {u.Query().Get("link")}}.Encode()))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	if res.StatusCode != http.StatusOK {
		err = fmt.Errorf("signing in to the console is answered %s", res.Status)
	}
	return client, base, errors.Join(err, res.Body.Close())
}

// get asks for one page; wait says that it was too soon.
func get(ctx context.Context, client *http.Client, address string) (status, size int, wait bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, 0, false, err
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, 0, false, err
	}
	n, err := io.Copy(io.Discard, res.Body)
	return res.StatusCode, int(n), res.StatusCode == http.StatusTooManyRequests, errors.Join(err, res.Body.Close())
}
