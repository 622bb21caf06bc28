package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync/atomic"
)

// serviceKey is what the daemon shows to the service, which does not look at it.
const serviceKey = "bench-api-key"

// A service is the least that can pass for the messaging service: it takes every send, and
// every message is delivered as soon as somebody asks. Bases and daemon call the same one.
type service struct {
	*httptest.Server
	id atomic.Int64 // of the newest message
	// called, when not nil, gets the serial of the webhook that led to each send.
	called atomic.Pointer[func(serial int64)]
}

func startService() *service {
	s := &service{}
	s.id.Store(1_000_000_000) // ids with as many digits as real ones
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/send-template", s.send)
	mux.HandleFunc("GET /api/v1/message-status/{id}", s.status)
	s.Server = httptest.NewServer(mux)
	return s
}

// base is the address that endpoint paths are put behind.
func (s *service) base() string { return s.URL + "/api/v1" }

var phoneInBody = regexp.MustCompile(`"phone":"(\d+)"`)

func (s *service) send(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if called := s.called.Load(); called != nil {
		if phone := phoneInBody.FindSubmatch(body); phone != nil {
			if serial, ok := serialOf(string(phone[1])); ok {
				(*called)(serial)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"success":true,"message_id":%d}`, s.id.Add(1))
}

func (s *service) status(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"success":true,"message_id":%d,"status":"delivered","delivered":true,"timestamp":"2026-01-05T10:00:00Z"}`, id)
}
