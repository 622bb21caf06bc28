package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
)

// controlPath is where the control endpoints begin.
const controlPath = "/_sandbox/"

const (
	maxPhones   = 10_000 // in the stats
	maxMessages = 10_000 // in one answer
)

// control serves what steers and shows the sandbox.
func (s *Sandbox) control(w http.ResponseWriter, r *http.Request) {
	if !loopback(r) {
		if words := s.authorize(r); words != "" {
			say(http.StatusUnauthorized, words).write(w)
			return
		}
	}
	// A page in a browser on this machine reaches the loopback interface as well.
	if s.origins.Check(r) != nil {
		say(http.StatusForbidden, "requests from other sites are refused").write(w)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /_sandbox/faults":
		show(w, s.Faults())
	case "PUT /_sandbox/faults":
		s.putFaults(w, r)
	case "PUT /_sandbox/points":
		s.putPoints(w, r)
	case "GET /_sandbox/stats":
		counts, whole := s.byPhone(maxPhones)
		show(w, struct {
			Stats
			ByPhone    map[string]int `json:"accepted_by_phone"`
			ByPhoneCut bool           `json:"accepted_by_phone_cut,omitempty"` // there are more phones
		}{s.Stats(), counts, !whole})
	case "GET /_sandbox/messages":
		s.getMessages(w, r)
	case "GET /_sandbox/campaigns":
		show(w, map[string]any{"campaigns": s.Campaigns()})
	case "POST /_sandbox/reset":
		s.Reset()
		show(w, map[string]any{"success": true})
	default:
		say(http.StatusNotFound, "no such control endpoint: there are GET and PUT faults, PUT points, GET stats, GET messages, GET campaigns, POST reset").write(w)
	}
}

func (s *Sandbox) putFaults(w http.ResponseWriter, r *http.Request) {
	var f Faults
	if take(w, r, "faults", &f) {
		s.SetFaults(f)
		show(w, f)
	}
}

func (s *Sandbox) putPoints(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Points *float64 `json:"points"`
	}
	if !take(w, r, "points", &in) {
		return
	}
	if in.Points == nil {
		say(http.StatusBadRequest, `points: want {"points": 1000}; below 0 there is no end of them`).write(w)
		return
	}
	s.SetPoints(*in.Points)
	show(w, in)
}

// take reads a control request's JSON into v, or answers what is wrong with it.
func take(w http.ResponseWriter, r *http.Request, what string, v any) (ok bool) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJSON))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		say(http.StatusRequestEntityTooLarge, "body is too large").write(w)
		return false
	}
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		say(http.StatusBadRequest, what+": "+err.Error()).write(w)
	}
	return err == nil
}

func (s *Sandbox) getMessages(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := 100
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxMessages {
			say(http.StatusBadRequest, "limit must be a number from 1 to "+strconv.Itoa(maxMessages)).write(w)
			return
		}
		limit = n
	}
	if !q.Has("phone") {
		show(w, map[string]any{"messages": s.newest(limit)})
		return
	}
	if _, ok := parseNumber(q.Get("phone")); !ok {
		say(http.StatusBadRequest, "phone must be 7 to 15 digits").write(w)
		return
	}
	all := s.Messages(q.Get("phone"))
	if all == nil {
		all = []Message{}
	}
	show(w, map[string]any{"messages": all[max(0, len(all)-maxMessages):]})
}

// loopback reports whether the request comes from this machine and not through a proxy on it.
func loopback(r *http.Request) bool {
	for _, h := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip"} {
		if r.Header.Get(h) != "" {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// show answers with v as JSON for people.
func show(w http.ResponseWriter, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		say(http.StatusInternalServerError, "answer cannot be written: "+err.Error()).write(w)
		return
	}
	reply{status: http.StatusOK, body: append(text, '\n')}.write(w)
}
