package listeners

import (
	"net/http"
	"strconv"
)

// WriteWords answers in one small JSON shape, so that a person with curl can read it.
func WriteWords(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	key := "status"
	if status >= http.StatusBadRequest {
		key = "error"
	}
	w.Write([]byte(`{"` + key + `":` + strconv.Quote(words) + "}\n"))
}
