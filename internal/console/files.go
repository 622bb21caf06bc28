package console

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// file answers with something to download. name is asked of do once the first of it is there: before that, an error is a page.
func (c *Console) file(do func(r *http.Request, begin func(kind, name string) io.Writer) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := access.WhoOf(r.Context()); !known {
			c.write(w, r, http.StatusUnauthorized, page{Name: "signin", Title: "Sign in", Data: signInPage{}})
			return
		}
		begun := false
		err := do(r, func(kind, name string) io.Writer {
			begun = true
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
			return w
		})
		switch {
		case err == nil:
		case !begun:
			c.refuse(w, r, err)
		default:
			c.Log.Warn("a download was cut short", zap.String("page", r.Pattern), zap.Error(err))
			panic(http.ErrAbortHandler) // what is not whole must not look whole
		}
	})
}

// rowsFile is every row of a run with what became of it, or those alone that were excluded.
func (c *Console) rowsFile(r *http.Request, begin func(kind, name string) io.Writer) error {
	id, err := number(r, "a run")
	if err != nil {
		return err
	}
	excluded := r.URL.Query().Get("only") == server.StateExcluded
	name := fmt.Sprintf("run-%d.csv", id)
	if excluded {
		name = fmt.Sprintf("run-%d-excluded.csv", id)
	}
	var out *csv.Writer
	write := func(cells []string) error {
		if out == nil {
			out = csv.NewWriter(begin("text/csv; charset=utf-8", name))
			if err := out.Write(server.RowHead); err != nil {
				return err //nolint:wrapcheck // whoever asked is gone
			}
		}
		return out.Write(cells)
	}
	err = server.ExportRows.Each(r.Context(), c.Ask, messaging.RunID(id), func(v *server.RowView) error {
		if excluded && v.State != server.StateExcluded {
			return nil
		}
		return write(v.Cells())
	})
	switch {
	case err != nil:
		return err
	case out == nil:
		return &refusal.Error{Status: http.StatusNotFound, Words: "there is no such row, or it is not kept any more", Hint: "its counts are kept, on the page of the run"}
	}
	out.Flush()
	return out.Error() //nolint:wrapcheck // whoever asked is gone
}

// dataFile is all that is stored about a person.
func (c *Console) dataFile(r *http.Request, begin func(kind, name string) io.Writer) error {
	data, err := server.ShowContactData.Call(r.Context(), c.Ask, r.URL.Query().Get("phone"))
	if err != nil {
		return err
	}
	out := json.NewEncoder(begin("application/json", "contact-"+string(data.Contact.Phone)+".json"))
	out.SetIndent("", "  ")
	return out.Encode(data) //nolint:wrapcheck // whoever asked is gone
}
