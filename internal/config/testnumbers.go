package config

import (
	"errors"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// testNumbers reads the phones that tests go to.
func (c *Config) testNumbers(k *checker) {
	for i := range c.in.TestNumbers {
		e := &c.in.TestNumbers[i]
		at := yamlpos.Join("test_numbers", e.Key)
		k.name(at, "a test number", e.Key)
		if !k.written(at) {
			continue
		}
		number, err := phones.Read(e.Value, phones.Home{Country: c.Defaults.Country})
		if err != nil {
			words := "is not a phone number"
			if !errors.Is(err, phones.ErrNone) {
				words += ": " + err.Error()
			}
			k.bad(at, words, "write it with its country code, such as +447700900123")
			continue
		}
		one := messaging.TestNumber{Name: e.Key}
		one.Phone, one.SentAs = messaging.PhoneOf(number.Digits)
		c.TestNumbers = append(c.TestNumbers, one)
	}
}
