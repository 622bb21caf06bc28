package drift

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What an event costs that is looked at, beside the reading of its contact: a cart of Shopify's.
func BenchmarkShape(b *testing.B) {
	payload := sampleOf(b)
	contact := messaging.Contact{Name: "Ada Lovelace", Email: "ada@example.com"}
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, ok := Shape(payload, &contact, nil); !ok {
			b.Fatal("not looked at")
		}
	}
}

// What a commit costs that counts, for each kind in it: the counts of the hour are read, added to, written and held against the week before.
func BenchmarkCount(b *testing.B) {
	fields, _ := Shape(sampleOf(b), nil, nil)
	var before, hour Counts
	for range 5000 {
		before.Add(fields, noon, nil)
	}
	hour.Add(fields, noon, nil)
	for b.Loop() {
		text, err := hour.encode()
		if err != nil {
			b.Fatal(err)
		}
		counts, err := decodeCounts(hour.Events, text)
		if err != nil {
			b.Fatal(err)
		}
		counts.Add(fields, noon, &before)
		Judge(before.Then(counts))
	}
	b.ReportMetric(float64(len(fields)), "fields")
}

func sampleOf(b *testing.B) string {
	b.Helper()
	for _, p := range connectors.Presets() {
		for _, s := range p.Samples {
			if p.Name == "shopify" && strings.Contains(s.Topic, "orders/create") {
				return string(s.Body)
			}
		}
	}
	b.Fatal("no sample")
	return ""
}
