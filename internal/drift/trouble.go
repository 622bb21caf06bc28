package drift

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// mostTold is how many fields of a kind a trouble names.
const mostTold = 3

// Troubles are what is to be done, one for each kind of event.
func Troubles(todo []View) (all []messaging.Trouble) {
	kinds := map[eventKind][]View{}
	var order []eventKind
	for _, v := range todo {
		k := eventKind{v.Connector, v.Kind}
		if kinds[k] == nil {
			order = append(order, k)
		}
		kinds[k] = append(kinds[k], v)
	}
	for _, k := range order {
		all = append(all, troubleOf(k, kinds[k]))
	}
	return all
}

func troubleOf(k eventKind, fields []View) messaging.Trouble {
	one := messaging.Trouble{
		Code: messaging.TroubleDrift, Subject: k.connector + "." + k.kind, Severity: messaging.Bad, About: "connector " + k.connector, Amount: float64(len(fields)),
	}
	var words []string
	for i := range fields {
		v := &fields[i]
		if one.Since.IsZero() || v.Since.Before(one.Since) {
			one.Since = v.Since
		}
		if i >= mostTold {
			continue
		}
		text := v.Words()
		if i > 0 {
			text = strings.TrimPrefix(text, k.connector+"."+k.kind+": ")
		}
		words = append(words, text+", read as "+v.readers())
	}
	if n := len(fields) - mostTold; n > 0 {
		words = append(words, fmt.Sprintf("%d more", n))
	}
	one.Words = "what the sender posts has changed: " + strings.Join(words, "; ")
	var mends []string
	first := &fields[0]
	if first.YAML != "" {
		mends = append(mends, "write "+first.YAML)
	}
	if len(first.Edits) > 0 {
		mends = append(mends, strings.Join(first.Edits, ", "))
	}
	one.Hint = strings.Join(mends, ", and ") + fmt.Sprintf(`, then "nudgewire reload"; "nudgewire connectors drift %s" shows all; if it is meant so, "nudgewire connectors drift --accept %s/%s" ends this`,
		k.connector, k.connector, k.kind)
	return one
}

// readers are who reads the field, in words: "contact.phone, by trigger thanks".
func (v *View) readers() string {
	var fields, names []string
	for _, who := range v.ReadBy {
		if name, is := strings.CutPrefix(who, ofTrigger); is {
			names = append(names, name)
		} else {
			fields = append(fields, who)
		}
	}
	words := units.Enumerate(fields)
	if len(names) > 0 {
		words += ", by " + ofTrigger + units.Enumerate(names)
	}
	return words
}
