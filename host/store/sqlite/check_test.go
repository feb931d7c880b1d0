package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

func TestCheckOfASoundDatabase(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "tenon.db"))
	defer s.Close()
	if _, err := s.Create(t.Context(), &sdk.Session{ID: "ses_1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context(), ""); err != nil {
		t.Errorf("Check = %v", err)
	}
}
