//go:build !linux

package confine_test

import (
	"errors"
	"testing"

	"github.com/tenonhq/tenon/internal/confine"
)

func play(string) int { return 1 }

func TestUnsupported(t *testing.T) {
	t.Parallel()
	if _, err := confine.New(confine.Policy{}); !errors.Is(err, confine.ErrUnsupported) {
		t.Errorf("New = %v, want ErrUnsupported", err)
	}
}
