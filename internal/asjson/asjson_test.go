package asjson

import (
	"mime/multipart"
	"strings"
	"testing"
)

func TestBodiesBecomeJSON(t *testing.T) {
	var files strings.Builder
	w := multipart.NewWriter(&files)
	_ = w.WriteField("a", "1")
	_, _ = w.CreateFormFile("f", "x.txt")
	_ = w.Close()
	tests := map[string]struct {
		read func() ([]byte, error)
		want string
	}{
		"a form":                    {encoded(Form{Repeated: "last"}, "a=1&b=x+%C3%A9&a=2"), `{"a":"2","b":"x é"}`},
		"fields in fields":          {encoded(Form{Repeated: "last"}, "c[name]=x&c[tags][]=a&c[tags][]=b&i[0][n]=1&i[1][n]=2"), `{"c":{"name":"x","tags":["a","b"]},"i":[{"n":"1"},{"n":"2"}]}`},
		"names as they are":         {encoded(Form{Flat: true, Repeated: "last"}, "c[name]=x"), `{"c[name]":"x"}`},
		"the first of one name":     {encoded(Form{Repeated: "first"}, "a=1&a=2"), `{"a":"1"}`},
		"all of one name":           {encoded(Form{Repeated: "all"}, "a=1&a=2&a=3"), `{"a":["1","2","3"]}`},
		"a % that begins no escape": {encoded(Form{}, "a=%zz"), "error: is no form: the value of field 1 has a % that begins no escape"},
		"nothing":                   {encoded(Form{}, " "), "error: is a form without fields"},
		"parts with a file": {
			func() ([]byte, error) { return Form{Repeated: "last"}.Multipart([]byte(files.String()), w.Boundary()) },
			`{"a":"1","f":{"filename":"x.txt","type":"application/octet-stream","bytes":0}}`,
		},
		"XML":        {document(`<a xmlns:x="u" id="7"><x:b>1</x:b><b> 2 </b><c k="v">t</c></a>`), `{"a":{"@id":"7","b":["1","2"],"c":{"@k":"v","#text":"t"}}}`},
		"nil":        {document(`<a xmlns:xsi="u"><b nil="true"></b><c xsi:nil="1"/><d nil="false"></d><e nil="true">x</e><f nil="true" k="v"></f></a>`), `{"a":{"b":null,"c":null,"d":{"@nil":"false"},"e":{"@nil":"true","#text":"x"},"f":{"@nil":"true","@k":"v"}}}`},
		"broken XML": {document("<a>\n<b></a>"), "error: is broken XML in line 2"},
		"no XML":     {document("x"), "error: is XML without an element"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.read()
			if err != nil {
				got = []byte("error: " + err.Error())
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func encoded(f Form, body string) func() ([]byte, error) {
	return func() ([]byte, error) { return f.Encoded(body) }
}

func document(body string) func() ([]byte, error) {
	return func() ([]byte, error) { return XML([]byte(body), false) }
}
