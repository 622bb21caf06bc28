package mask

import (
	"fmt"
	"reflect"
)

// Sprintf is fmt.Sprintf for our own sentences. The format is ours; a text or an error that it inserts may be a stranger's, and phones in
// it are masked. What has a type of its own is ours, as in a field, or knows how it is masked.
func Sprintf(format string, args ...any) string {
	masked := make([]any, len(args))
	for i, arg := range args {
		masked[i] = inserted(arg)
	}
	return fmt.Sprintf(format, masked...)
}

// Unmasked is Sprintf for who may see phones: a text that they wrote themselves stays as it is. An error may tell of somebody else's.
func Unmasked(format string, args ...any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		if text, is := arg.(string); is {
			shown[i] = text
		} else if v := reflect.ValueOf(arg); v.IsValid() && v.Kind() == reflect.String {
			shown[i] = v.String() // a phone
		} else {
			shown[i] = inserted(arg)
		}
	}
	return fmt.Sprintf(format, shown...)
}

// Own is a text of ours that Sprintf inserts as it is.
type Own string

func inserted(arg any) any {
	switch arg := arg.(type) {
	case interface{ Masked() string }: // a phone, or problems of a config
		return arg.Masked()
	case string:
		return Text(arg)
	case error:
		return Text(arg.Error())
	}
	return arg
}
