package apiclient

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReadAnswer(t *testing.T) {
	tests := map[string]struct {
		text string
		want Answer
	}{
		"an integer": {`{"success":true,"message_id":123}`, Answer{MessageID: "123"}},
		"an integer beyond 2^53 keeps every digit":     {`{"message_id":9007199254740993}`, Answer{MessageID: "9007199254740993"}},
		"an integer beyond 2^64 keeps every digit":     {`{"message_id":36893488147419103233}`, Answer{MessageID: "36893488147419103233"}},
		"a string of digits":                           {`{"message_id":"000123"}`, Answer{MessageID: "000123"}},
		"under data":                                   {`{"success":true,"data":{"message_id":77}}`, Answer{MessageID: "77"}},
		"at the top before data":                       {`{"data":{"message_id":1},"message_id":2}`, Answer{MessageID: "2"}},
		"under data when the top has no digits":        {`{"message_id":null,"data":{"message_id":"1"}}`, Answer{MessageID: "1"}},
		"a fraction is no id":                          {`{"message_id":1.5}`, Answer{}},
		"a power of ten is no id":                      {`{"message_id":1e3}`, Answer{}},
		"a negative number is no id":                   {`{"message_id":-1}`, Answer{}},
		"words are no id":                              {`{"message_id":"wamid.x"}`, Answer{}},
		"an empty string is no id":                     {`{"message_id":""}`, Answer{}},
		"other digits than ASCII are no id":            {`{"message_id":"١٢٣"}`, Answer{}},
		"an id of a hundred digits is none":            {`{"message_id":` + strings.Repeat("1", 100) + `}`, Answer{}},
		"no id":                                        {`{"success":true}`, Answer{}},
		"deeper than data is not looked at":            {`{"result":{"message_id":1}}`, Answer{}},
		"a list is no answer":                          {`[{"message_id":1}]`, Answer{}},
		"JSON that is cut is not trusted":              {`{"message_id":12`, Answer{}},
		"JSON with a tail is not trusted":              {`{"message_id":12}}`, Answer{}},
		"nothing":                                      {``, Answer{}},
		"a list of ids":                                {`{"message_ids":[1,"2",null,9007199254740993]}`, Answer{MessageIDs: []string{"1", "2", "9007199254740993"}}},
		"a list of messages under data":                {`{"data":{"messages":[{"message_id":1},{"message_id":"2"},{}]}}`, Answer{MessageIDs: []string{"1", "2"}}},
		"a list that says whose each is":               {`{"messages":[{"message_id":1,"phone":"447700900101"},{"message_id":2,"phone":"+44"},3]}`, Answer{MessageIDs: []string{"1", "2", "3"}, Phones: []string{"447700900101", "", ""}}},
		"an id that is listed twice is one message":    {`{"message_ids":[1,2,1]}`, Answer{MessageIDs: []string{"1", "2"}}},
		"data as a list of messages":                   {`{"data":[{"message_id":1}]}`, Answer{MessageIDs: []string{"1"}}},
		"a campaign's id as text":                      {`{"campaign_id":"abc-1"}`, Answer{CampaignID: "abc-1"}},
		"a campaign's id as a number":                  {`{"data":{"campaign_id":9007199254740993}}`, Answer{CampaignID: "9007199254740993"}},
		"success false without a message is a refusal": {`{"success":false}`, Answer{denied: true}},
		"success false with a message is none":         {`{"success":false,"message_id":1}`, Answer{MessageID: "1"}},
		"an error without a message is a refusal":      {`{"error":"insufficient points"}`, Answer{denied: true}},
		"an error under data":                          {`{"success":true,"data":{"error":"insufficient points"}}`, Answer{denied: true}},
		"an error that is an object":                   {`{"error":{"code":7,"message":"no"}}`, Answer{denied: true}},
		"an error that is a list":                      {`{"error":["no"]}`, Answer{denied: true}},
		"an error that is true":                        {`{"error":true,"message":"no"}`, Answer{denied: true}},
		"an error that is a number":                    {`{"error":131026}`, Answer{denied: true}},
		"an error in capitals":                         {`{"Error":"no"}`, Answer{denied: true}},
		"an error with a message is followed":          {`{"error":"slow","message_id":1}`, Answer{MessageID: "1"}},
		"an error with a message under data":           {`{"error":"slow","data":{"message_id":1}}`, Answer{MessageID: "1"}},
		"an error beside a list of messages":           {`{"error":"2 rows are bad","message_ids":[1]}`, Answer{MessageIDs: []string{"1"}}},
		"an error that is null is none":                {`{"success":true,"error":null}`, Answer{}},
		"an error that is false is none":               {`{"success":true,"error":false}`, Answer{}},
		"an error that is zero is none":                {`{"success":true,"error":0}`, Answer{}},
		"an error of white space is none":              {`{"success":true,"error":" "}`, Answer{}},
		"an error that is an empty object is none":     {`{"success":true,"error":{}}`, Answer{}},
		"an error that is an empty list is none":       {`{"success":true,"error":[]}`, Answer{}},
		"an error of a campaign that has an id":        {`{"campaign_id":"88","error":"no points"}`, Answer{CampaignID: "88", denied: true}},
		"status failed":                                {`{"status":"failed"}`, Answer{denied: true}},
		"status FAILED under data":                     {`{"data":{"STATUS":" FAILED "}}`, Answer{denied: true}},
		"status failed with a message is followed":     {`{"status":"failed","message_id":"1","error":"x"}`, Answer{MessageID: "1"}},
		"another status is none":                       {`{"status":"queued"}`, Answer{}},
		"a status that is a number is none":            {`{"status":200}`, Answer{}},
		"an error deeper than data is not looked at":   {`{"meta":{"error":"x"}}`, Answer{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := readAnswer([]byte(tt.text), true)
			if got.Raw != tt.text {
				t.Errorf("raw is %q", got.Raw)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(Answer{}), cmpopts.IgnoreFields(Answer{}, "Raw")); diff != "" {
				t.Errorf("readAnswer (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an answer that was cut names no message", func(t *testing.T) {
		if got := readAnswer([]byte(`{"message_id":1}`), false); got.MessageID != "" {
			t.Errorf("read %q", got.MessageID)
		}
	})
}

func TestRawText(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"short text stays":                 {"abc", "abc"},
		"4 KB are kept":                    {strings.Repeat("x", 5000), strings.Repeat("x", 4096)},
		"no character is cut in two":       {strings.Repeat("x", 4095) + "é", strings.Repeat("x", 4095)},
		"NUL and broken text are replaced": {"a\x00b\xffc", "a\uFFFDb\uFFFDc"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := rawText(tt.text); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzReadAnswer(f *testing.F) {
	for _, s := range []string{`{"message_id":1}`, `{"data":[{"message_id":"2"}]}`, `{"data":{"messages":[1]}}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a := readAnswer(text, true)
		if !utf8.ValidString(a.Raw) || len(a.Raw) > 3*maxRaw {
			t.Errorf("raw %q", a.Raw)
		}
		for _, id := range append(a.MessageIDs, a.MessageID) {
			if id != "" && (!digits(id) || len(id) > maxDigits) {
				t.Errorf("id %q", id)
			}
		}
	})
}
