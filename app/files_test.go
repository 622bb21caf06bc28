package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files/filestest"
	"github.com/nudgewire/nudgewire/server"
)

// A run is built by one daemon, with its files where the config says, and goes on in the next: uploaded, exported, asked about,
// sent again, forgotten. Nothing of it lies in a folder.
func TestRunsKeepTheirFilesWhereTheConfigSays(t *testing.T) {
	t.Parallel()
	places := map[string]func(t *testing.T) (files, root string){
		"in the database": func(*testing.T) (string, string) { return "files: database\n", "database://winback/" },
		"in s3": func(t *testing.T) (string, string) {
			s := filestest.S3(t, nil)
			return fmt.Sprintf("files: {s3: {bucket: %s, prefix: %s, endpoint: %q, region: %s, access_key: AK, secret_key: SK, allow_private: true}}\n", s.Bucket, s.Prefix, s.Endpoint, s.Region), "s3://files/shop/runs/winback/"
		},
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			files, root := place(t)
			folder := t.TempDir()
			wanted := list(t, filepath.Join(folder, "list.csv"), 400)
			o := options{folder: folder, config: files + jobConfig(folder, byCSV+"    max_size: 2kB\n    guard: {approve_over: 1}\n")}
			h := open(t, o)
			r := h.fire("winback")
			if r.State != nudgewire.RunAwaiting || !strings.HasPrefix(r.Folder, root) || len(r.ExcludedFiles) != 1 || !strings.HasPrefix(r.ExcludedFiles[0], root) {
				t.Fatalf("%s %q in %s, listed in %q", r.State, r.Reason, r.Folder, r.ExcludedFiles)
			}
			h.stop()
			h = open(t, o)
			if _, err := h.ask.OrderRun(t.Context(), r.ID, "approve", server.RunOrder{}); err != nil {
				t.Fatal(err)
			}
			h.eventually("it is done", func() bool { return h.run(r.ID).State == nudgewire.RunDone })
			for _, phone := range wanted {
				if n := h.service.Accepted(phone); n != 1 {
					t.Fatalf("%s got it %d times", phone, n)
				}
			}
			rows, problems := h.export(r.ID)
			if len(rows) != 400 || len(problems) != 0 || rows[0].Phone != wanted[0] || rows[0].Row != 2 || rows[399].State != server.StateExcluded {
				t.Fatalf("exported %d rows, %q", len(rows), problems)
			}
			if got, note := h.why("+" + wanted[0]); len(got) == 0 || note != "" {
				t.Errorf("why: %q %q", got, note)
			}
			gone := wanted[1]
			if _, err := h.ask.Forget(t.Context(), server.ForgetRequest{Phones: []string{"+" + gone}}); err != nil {
				t.Fatal(err)
			}
			h.eventually("the files forget the contact", func() bool {
				rows, problems = h.export(r.ID)
				return len(problems) == 0 && !slices.ContainsFunc(rows, func(r server.RowView) bool { return r.Phone == gone })
			})
			if len(rows) != 400 {
				t.Errorf("%d rows are left", len(rows))
			}
			if _, err := os.Stat(filepath.Join(folder, "runs")); !os.IsNotExist(err) {
				t.Errorf("there is a folder: %v", err)
			}
		})
	}
}
