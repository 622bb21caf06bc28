package asjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Form says how the names of a form's fields are read.
type Form struct {
	Flat     bool   // contact[fields][12] is one name, and not a field inside contact
	Repeated string // which of several fields with one name counts: first, last or all
}

// Encoded reads a URL-encoded form in the order it was written.
func (f Form) Encoded(body string) ([]byte, error) {
	root := &node{members: map[string]*node{}}
	fields := 0
	for pair := range strings.SplitSeq(strings.TrimSpace(body), "&") {
		if pair == "" {
			continue
		}
		if fields++; fields > maxFields {
			return nil, fmt.Errorf("has more than %d fields", maxFields)
		}
		// url.ParseQuery rejects it, and the parts of a signature are read by that.
		if strings.IndexByte(pair, ';') >= 0 {
			return nil, fmt.Errorf("is no form: field %d holds a semicolon that is not written as %%3B", fields)
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return nil, fmt.Errorf("is no form: the name of field %d has a %% that begins no escape", fields)
		}
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("is no form: the name of field %d is not UTF-8 text", fields)
		}
		value, err = url.QueryUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("is no form: the value of field %d has a %% that begins no escape", fields)
		}
		if err := f.put(root, name, &node{text: value}); err != nil {
			return nil, err
		}
	}
	if fields == 0 {
		return nil, errors.New("is a form without fields")
	}
	return root.appendJSON(nil), nil
}

// put adds a field by its name: contact[fields][12], tags[], or plain.
func (f Form) put(at *node, name string, value *node) error {
	keys := []string{name}
	if !f.Flat {
		keys = bracketKeys(name)
	}
	if len(keys) > maxLevels {
		return fmt.Errorf("has a field with more than %d brackets", maxLevels)
	}
	for i, key := range keys {
		last := i == len(keys)-1
		if key == "" && i > 0 { // tags[]: the next element of a list
			key = strconv.Itoa(len(at.names))
		}
		old := at.members[key]
		switch {
		case !last:
			if old == nil || old.members == nil {
				old = &node{}
				at.set(key, old)
			}
			at = old
		case old == nil || f.Repeated == "last" || old.members != nil:
			at.set(key, value)
		case f.Repeated == "all" && old.list != nil:
			old.list = append(old.list, value)
		case f.Repeated == "all":
			at.set(key, &node{list: []*node{old, value}})
		}
	}
	return nil
}

// bracketKeys cuts a[b][] into a, b and "". A name that only resembles brackets, such as
// "a]b" or "[x", is one plain key.
func bracketKeys(name string) []string {
	open := strings.IndexByte(name, '[')
	if open <= 0 || name[len(name)-1] != ']' {
		return []string{name}
	}
	keys := []string{name[:open]}
	for rest := name[open:]; rest != ""; {
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 || strings.IndexByte(rest[1:end], '[') >= 0 {
			return []string{name}
		}
		keys = append(keys, rest[1:end])
		rest = rest[end+1:]
	}
	return keys
}

// Multipart reads multipart/form-data. Of a file only its name, type and length are kept.
func (f Form) Multipart(body []byte, boundary string) ([]byte, error) {
	if boundary == "" {
		return nil, errors.New("is multipart, but its content type names no boundary")
	}
	root := &node{members: map[string]*node{}}
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for fields := 0; ; fields++ {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("is broken multipart at part %d", fields+1)
		}
		if fields >= maxFields {
			return nil, fmt.Errorf("has more than %d fields", maxFields)
		}
		content, err := io.ReadAll(part) // bounded by the body, which is in memory
		if err != nil {
			return nil, fmt.Errorf("is broken multipart at part %d", fields+1)
		}
		value := &node{text: string(content)}
		if file := part.FileName(); file != "" {
			value = &node{}
			value.set("filename", &node{text: file})
			value.set("type", &node{text: part.Header.Get("Content-Type")})
			value.set("bytes", &node{raw: strconv.Itoa(len(content))})
		}
		if part.FormName() == "" {
			continue
		}
		if err := f.put(root, part.FormName(), value); err != nil {
			return nil, err
		}
	}
	if len(root.names) == 0 {
		return nil, errors.New("is multipart without fields")
	}
	return root.appendJSON(nil), nil
}
