package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
)

// serviceKey is what the daemon shows to the service, which does not look at it.
const serviceKey = "bench-api-key"

// firstMessage is the id before the first one given out: as many digits as real ones have.
const firstMessage = 1_000_000_000

// A service is the least that can pass for the messaging service: it takes every send, and
// every message is delivered as soon as somebody asks. Bases and daemon call the same one.
type service struct {
	*plainServer
	ids    atomic.Int64
	bodies sync.Pool
	// called, when not nil, is told the phone of each send as soon as its body was read. It
	// is set while nobody calls.
	called atomic.Pointer[func(phone []byte)]
}

func startService(ctx context.Context) (*service, error) {
	s := &service{}
	s.ids.Store(firstMessage)
	s.bodies.New = func() any { return new(bytes.Buffer) }
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/send-template", s.send)
	mux.HandleFunc("GET /api/v1/message-status/{id}", s.status)
	var err error
	s.plainServer, err = serve(ctx, mux)
	return s, err
}

// base is the address that endpoint paths are put behind.
func (s *service) base() string { return "http://" + s.addr + "/api/v1" }

func (s *service) send(w http.ResponseWriter, r *http.Request) {
	body := s.bodies.Get().(*bytes.Buffer)
	defer s.bodies.Put(body)
	body.Reset()
	if _, err := io.Copy(body, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if called := s.called.Load(); called != nil {
		(*called)(phoneIn(body.Bytes()))
	}
	answer := make([]byte, 0, 64)
	answer = append(answer, `{"success":true,"message_id":`...)
	answer = append(strconv.AppendInt(answer, s.ids.Add(1), 10), '}')
	answerJSON(w, answer)
}

func (s *service) status(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		http.Error(w, "message_id must be an integer", http.StatusBadRequest)
		return
	}
	answer := make([]byte, 0, 160)
	answer = strconv.AppendUint(append(answer, `{"success":true,"message_id":`...), id, 10)
	answerJSON(w, append(answer, `,"status":"delivered","delivered":true,"timestamp":"2026-01-05T10:00:00Z"}`...))
}

func answerJSON(w http.ResponseWriter, answer []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

var phoneName = []byte(`"phone":"`)

// phoneIn is the phone in a send's body; nil when it names none.
func phoneIn(body []byte) []byte {
	_, rest, ok := bytes.Cut(body, phoneName)
	if !ok {
		return nil
	}
	phone, _, _ := bytes.Cut(rest, phoneName[:1])
	return phone
}
