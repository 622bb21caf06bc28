package asjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strconv"
	"strings"
)

// A Form says how the names of a form's fields are read.
type Form struct {
	Flat     bool   // contact[fields][12] is one name, and not a field inside contact
	Repeated string // which of several fields with one name counts: first, last or all
	Charset  Charset
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
		name, err := f.unescaped(name)
		if err != nil {
			return nil, fmt.Errorf("is no form: the name of field %d %w", fields, err)
		}
		if value, err = f.unescaped(value); err != nil {
			return nil, fmt.Errorf("is no form: the value of field %d %w", fields, err)
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

// unescaped is a name or a value of a form as it was before it was written for a URL.
func (f Form) unescaped(text string) (string, error) {
	text, err := url.QueryUnescape(text)
	if err != nil {
		return "", errors.New("has a % that begins no escape")
	}
	read, err := f.Charset.Text([]byte(text))
	return string(read), err
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

// charsetField is the name of a field that says in which charset the fields behind it are (RFC 7578, 4.6).
const charsetField = "_charset_"

// Multipart reads multipart/form-data. Of a file only its name, type and length are kept. A part is in the charset that its
// own content type names, else in the one of the field _charset_, else in the form's.
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
		value := &node{}
		if file := part.FileName(); file != "" {
			value.set("filename", &node{text: file})
			value.set("type", &node{text: part.Header.Get("Content-Type")})
			value.set("bytes", &node{raw: strconv.Itoa(len(content))})
		} else if value.text, err = f.part(part, content); err != nil {
			if !errors.Is(err, ErrCharset) {
				err = fmt.Errorf("is multipart whose part %d %w", fields+1, err)
			}
			return nil, err
		}
		switch part.FormName() {
		case "":
			continue
		case charsetField:
			if f.Charset, err = CharsetOf(strings.TrimSpace(value.text)); err != nil {
				return nil, err
			}
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

// part is the text of a part of multipart that is no file.
func (f Form) part(p *multipart.Part, content []byte) (string, error) {
	charset := f.Charset
	if _, params, err := mime.ParseMediaType(p.Header.Get("Content-Type")); err == nil && params["charset"] != "" {
		if charset, err = CharsetOf(params["charset"]); err != nil {
			return "", err
		}
	}
	text, err := charset.Text(content)
	return string(text), err
}
