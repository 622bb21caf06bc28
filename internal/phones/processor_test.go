//go:build unix

package phones_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/nudgewire/nudgewire/internal/phones"
)

// Each number is another one, as in a list of a million: no answer comes from the cache. What is measured is all that
// a row of a list asks: its digits, whether a plan knows it, and its price's country. At most 33 µs.
func BenchmarkDistinctNumber(b *testing.B) {
	for _, bb := range []struct {
		name, home, from string // from: the digits in front, with a count behind
		digits           int
	}{
		{"plus", "GB", "+4479", 8},
		{"national", "GB", "079", 8},
		{"national_US", "US", "212", 7},
		{"national_BR", "BR", "119", 8},
		{"possible", "US", "555", 7},
		{"abroad", "GB", "33612", 6},
		{"two_readings", "US", "49782", 5},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			i, bound := 0, 1
			for range bb.digits {
				bound *= 10
			}
			before := processorTime(b)
			for b.Loop() {
				i = (i + 7) % bound
				n, err := phones.Read(fmt.Sprintf("%s%0*d", bb.from, bb.digits, i), phones.Home{Country: bb.home})
				if err == nil {
					phones.Valid(n.Digits)
					phones.TariffCountry(n.Digits)
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime is what this process has used so far, in nanoseconds: other work of the machine does not count.
func processorTime(b *testing.B) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
