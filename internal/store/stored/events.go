package stored

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// packFrom is the size in bytes above which compression pays for itself.
const packFrom = 200

// The first byte of packed bytes says how the rest is written.
const (
	packedPlain = 0
	packedS2    = 1
)

// maxUnpacked bounds what a damaged row can make us allocate.
const maxUnpacked = 64 << 20

// PackContent is the content of an event as it is stored. Facts and payload have most texts in common, so together they take a third less:
// two events of the usual size lie on a page. JSON of one line has no line feed.
func PackContent(facts string, payload []byte) []byte {
	if facts == "" && len(payload) == 0 {
		return []byte{}
	}
	b := make([]byte, 0, len(facts)+1+len(payload))
	return pack(append(append(append(b, facts...), '\n'), payload...))
}

// UnpackContent undoes PackContent.
func UnpackContent(b []byte) (facts string, payload []byte, err error) {
	b, err = unpack(b)
	head, payload, _ := bytes.Cut(b, []byte{'\n'})
	return string(head), payload, err
}

// pack is b as it is stored.
func pack(b []byte) []byte {
	if len(b) < packFrom {
		return append([]byte{packedPlain}, b...)
	}
	packed := make([]byte, 1+s2.MaxEncodedLen(len(b)))
	packed[0] = packedS2
	return packed[:1+len(s2.Encode(packed[1:], b))]
}

// unpack undoes pack.
func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	switch b[0] {
	case packedPlain:
		return b[1:], nil
	case packedS2:
		n, err := s2.DecodedLen(b[1:])
		if err == nil && n > maxUnpacked {
			err = errors.New("too large to be ours")
		}
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		out, err := s2.Decode(nil, b[1:])
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		return out, nil
	default:
		return nil, fmt.Errorf("unpack: unknown form %d", b[0])
	}
}

// A storedFacts is what mapping read of an event, as it is stored (JSON). The phone, and why there is none, are columns.
type storedFacts struct {
	Contact messaging.Contact `json:"contact,omitzero"`
	Cart    messaging.Cart    `json:"cart,omitzero"`
	Order   messaging.Order   `json:"order,omitzero"`
	Deal    messaging.Deal    `json:"deal,omitzero"`
	Form    messaging.Form    `json:"form,omitzero"`
	Message messaging.Inbound `json:"message,omitzero"`

	History    bool     `json:"history,omitempty"`
	Forgotten  bool     `json:"forgotten,omitempty"`
	Request    string   `json:"request,omitempty"`
	Unreadable []string `json:"unreadable,omitempty"`
}

// FactsOf encodes what mapping read of e; "" where nothing was told.
func FactsOf(e *messaging.Event) (string, error) {
	f := storedFacts{
		Contact: e.Contact, Cart: e.Cart, Order: e.Order, Deal: e.Deal, Form: e.Form, Message: e.Message,
		History: e.History, Forgotten: e.Forgotten, Request: e.Request, Unreadable: e.Unreadable,
	}
	f.Contact.Phone, f.Contact.PhoneProblem = "", ""
	text, err := encode(&f)
	if text == "{}" {
		text = ""
	}
	return text, err
}

// AddFacts fills in what FactsOf encoded.
func AddFacts(text string, e *messaging.Event) error {
	if text == "" {
		return nil
	}
	var f storedFacts
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return fmt.Errorf("decode the facts of event %d: %w", e.ID, err)
	}
	f.Contact.Phone, f.Contact.PhoneProblem = e.Contact.Phone, e.Contact.PhoneProblem
	e.Contact, e.Cart, e.Order, e.Deal, e.Form, e.Message = f.Contact, f.Cart, f.Order, f.Deal, f.Form, f.Message
	e.History, e.Forgotten, e.Request, e.Unreadable = f.History, f.Forgotten, f.Request, f.Unreadable
	return nil
}

// An encoder keeps its room from one value to the next.
type encoder struct {
	room bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.room)
	e.json.SetEscapeHTML(false)
	return e
}}

// maxRoom is how much room an encoder keeps, in bytes: that of a huge event is let go.
const maxRoom = 64 << 10

// encode is v as JSON.
func encode(v any) (string, error) {
	e := encoders.Get().(*encoder)
	e.room.Reset()
	if err := e.json.Encode(v); err != nil {
		return "", err
	}
	text := e.room.String()
	if e.room.Cap() <= maxRoom {
		encoders.Put(e)
	}
	return strings.TrimSuffix(text, "\n"), nil
}

// EncodeList is a list as JSON; "" for none.
func EncodeList[T any](all []T) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	return encode(all)
}

// DecodeList undoes EncodeList.
func DecodeList[T any](text string) (all []T, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &all)
	}
	return all, err
}
