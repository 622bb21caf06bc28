package apiclient

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// The ratio of SendTemplate to BarePost, and of MessageStatus to BareGet, is what the client
// costs over net/http. Compare within one run only.

const benchBody = `{"phone":"447700900123","template":"cart_reminder","language":"en","variables":["Ada","Blue kettle","https://shop.example.com/c/1"]}`

func benchBase(b *testing.B, said string) string {
	return answer(b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, said)
	})
}

func BenchmarkBarePost(b *testing.B) {
	base := benchBase(b, `{"success":true,"message_id":9007199254740993}`)
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer bare.CloseIdleConnections()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			resp, err := bare.Post(base+"/send-template", "application/json", bytes.NewReader([]byte(benchBody)))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func BenchmarkSendTemplate(b *testing.B) {
	c := open(b, benchBase(b, `{"success":true,"message_id":9007199254740993}`), func(o *Options) { o.Concurrency = 64 })
	m := TemplateMessage{Phone: testPhone, Template: "cart_reminder", Language: "en", Variables: []string{"Ada", "Blue kettle", "https://shop.example.com/c/1"}}
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if a, err := c.SendTemplate(b.Context(), m); err != nil || a.MessageID == "" {
				b.Error(a, err)
				return
			}
		}
	})
}

const benchStatus = `{"success":true,"message_id":9007199254740993,"status":"delivered","delivered":true,"timestamp":"2026-03-08T14:05:06Z"}`

func BenchmarkBareGet(b *testing.B) {
	base := benchBase(b, benchStatus)
	bare := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer bare.CloseIdleConnections()
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			resp, err := bare.Get(base + "/message-status/9007199254740993")
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func BenchmarkMessageStatus(b *testing.B) {
	c := open(b, benchBase(b, benchStatus), func(o *Options) { o.Concurrency = 64 })
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := c.MessageStatus(b.Context(), "9007199254740993"); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkReadAnswer(b *testing.B) {
	said := []byte(`{"success":true,"message_id":9007199254740993}`)
	b.ReportAllocs()
	for b.Loop() {
		readAnswer(said, true)
	}
}

func BenchmarkReadStatus(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readStatus(benchStatus, "9007199254740993"); err != nil {
			b.Fatal(err)
		}
	}
}
