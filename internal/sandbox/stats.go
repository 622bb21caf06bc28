package sandbox

import (
	"sort"
	"strconv"
	"time"
)

// A Record is one API request, as Options.OnRequest gets it.
type Record struct {
	At         time.Time     `json:"at"`
	Took       time.Duration `json:"took_ns"`
	Endpoint   string        `json:"endpoint"`             // by the names in Stats
	Phone      string        `json:"phone,omitempty"`      // "" when the request has none, or none that can be read
	Kind       string        `json:"kind,omitempty"`       // template, campaign, text or upload
	Name       string        `json:"name,omitempty"`       // of the template, the campaign or the upload
	HTTPStatus int           `json:"http_status"`          // of the answer, also when a fault keeps it back; 0 when cut before
	MessageID  string        `json:"message_id,omitempty"` // that was accepted, or asked about
	Messages   int           `json:"messages,omitempty"`   // accepted by this request
	Words      string        `json:"words,omitempty"`      // why not; for a status look-up, why the message failed
	Fault      string        `json:"fault,omitempty"`      // what broke: "rate limit", "error", "cut before", "cut after", "hang", "junk"; "" for nothing
}

func (ask *request) record(a reply, fault string, end time.Time) Record {
	r := Record{
		At: ask.now, Took: end.Sub(ask.now), Endpoint: names[ask.endpoint], Phone: ask.phone,
		Kind: ask.subject.kind, Name: ask.subject.name, HTTPStatus: a.status, Messages: ask.messages,
		Words: a.words, Fault: fault,
	}
	if a.messageID != 0 {
		r.MessageID = strconv.FormatInt(a.messageID, 10)
	}
	return r
}

// Counts is how the requests to one endpoint ended.
type Counts struct {
	Requests int64 `json:"requests"`
	OK       int64 `json:"ok"`       // processed; some of them were then cut, hung or junk
	Rejected int64 `json:"rejected"` // 3xx and 4xx but 429
	Limited  int64 `json:"limited"`  // 429
	Errors   int64 `json:"errors"`   // 5xx
	Cut      int64 `json:"cut"`      // closed before or after processing
	Hung     int64 `json:"hung"`
	Junk     int64 `json:"junk"`
}

// A Repeat is a message that was accepted more than once.
type Repeat struct {
	Phone     string   `json:"phone"`
	Kind      string   `json:"kind"`
	Name      string   `json:"name,omitempty"`
	Variables []string `json:"variables,omitempty"`
	Times     int      `json:"times"`
}

// Stats is what the sandbox counted since it began, or was reset.
type Stats struct {
	Endpoints  map[string]Counts `json:"endpoints"`
	Messages   int               `json:"messages"`   // accepted
	Phones     int               `json:"phones"`     // that were sent to, or are contacts
	Contacts   int               `json:"contacts"`   // created by uploads
	Duplicates int               `json:"duplicates"` // accepted again: same phone, same template or campaign, same variables; not of those without points
	Repeated   []Repeat          `json:"repeated"`   // the first 100 of those, by phone
	Uploads    int               `json:"uploads"`
	Points     float64           `json:"points"` // left; below 0 for no end
}

func (s *Sandbox) count(e endpoint, how func(*Counts)) {
	s.countsMu.Lock()
	defer s.countsMu.Unlock()
	how(&s.counts[e])
}

func (c *Counts) ended(status int, fault string) {
	switch {
	case status == 429:
		c.Limited++
	case status >= 500:
		c.Errors++
	case status >= 300:
		c.Rejected++
	case status >= 200:
		c.OK++
	}
	switch fault {
	case faultCutBefore, faultCutAfter:
		c.Cut++
	case faultHang:
		c.Hung++
	case faultJunk:
		c.Junk++
	}
}

// Stats returns the counts so far. Endpoints that were never asked are left out.
func (s *Sandbox) Stats() Stats {
	st := Stats{Endpoints: map[string]Counts{}, Repeated: []Repeat{}}
	s.countsMu.Lock()
	for e, c := range s.counts {
		if c.Requests > 0 {
			st.Endpoints[names[e]] = c
		}
	}
	s.countsMu.Unlock()
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	st.Messages, st.Phones, st.Contacts = int(l.next), len(l.people), l.contacts
	st.Duplicates, st.Points = l.duplicates, l.points
	for _, r := range l.repeated {
		st.Repeated = append(st.Repeated, *r)
	}
	sort.Slice(st.Repeated, func(i, j int) bool {
		a, b := st.Repeated[i], st.Repeated[j]
		return a.Phone < b.Phone || (a.Phone == b.Phone && a.Name < b.Name)
	})
	for _, c := range l.campaigns {
		if !c.Predefined {
			st.Uploads++
		}
	}
	return st
}

// Accepted returns how many messages a phone got.
func (s *Sandbox) Accepted(phone string) int {
	n, ok := parseNumber(phone)
	if !ok {
		return 0
	}
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.people[n].accepted)
}

// byPhone returns the messages of at most limit phones, and whether that is all of them.
func (s *Sandbox) byPhone(limit int) (counts map[string]int, whole bool) {
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	counts = make(map[string]int, min(limit, len(l.people)))
	for n, p := range l.people {
		if len(counts) == limit {
			return counts, false
		}
		counts[n.String()] = int(p.accepted)
	}
	return counts, true
}
