package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/sdk"
)

// A session that was written while the clock was wrong does not hide the others.
func TestLatestSession(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "tenon.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &Workspace{Project: sdk.Project{Directory: "/src"}}
	for _, c := range []struct {
		id      string
		updated time.Duration
		want    string
	}{
		{"ses_future", 24 * time.Hour, "ses_future"},
		{"ses_old", -time.Hour, "ses_old"},
		{"ses_now", 0, "ses_now"},
	} {
		info := &sdk.Session{ID: c.id, Directory: "/src", Time: sdk.SessionTime{Updated: time.Now().Add(c.updated).UnixMilli()}}
		if err := s.Import(t.Context(), []store.Import{{Session: info}}, false); err != nil {
			t.Fatal(err)
		}
		if got, err := LatestSession(t.Context(), w, s); err != nil || got.ID != c.want {
			t.Errorf("with %s: LatestSession = %v, %v, want %s", c.id, got, err, c.want)
		}
	}
}
