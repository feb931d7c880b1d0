package confine_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/confine"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]bool{
		"java.nio.file.AccessDeniedException: /root/x":                                                        true,
		"An error occurred (AccessDeniedException) when calling the GetSecretValue operation: not authorized": false, // by AWS
	} {
		if got := confine.Refused(output); got != want {
			t.Errorf("Refused(%q) = %t, want %t", output, got, want)
		}
	}
}
