// Package privacy takes out of the data what is not kept any more: what is older than its kind is kept for (retention), and
// what tells of contacts who are to be forgotten (erasure). It also knows what contacts ask for: their data, and that all that came by a
// connector is forgotten.
//
// Who is forgotten, and so gets nothing, is asked by every claim and every event that comes; the store itself knows that
// (internal/store/contact_forget.go, contact_marks.go, contact_redaction.go). A schedule is for who calls (internal/app).
package privacy

import "github.com/nudgewire/nudgewire/internal/store"

// Records are the data of a store, to be kept no longer.
type Records struct{ *store.Store }
