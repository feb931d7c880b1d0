package projectfs_test

import (
	"testing"

	"github.com/tenonhq/tenon/internal/projectfs"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"SECRET.txt": "secret.txt", ".v\u017fcode": ".vscode", "\u212aEYS": "keys", "conﬁg": "config", "STRAẞE": "strasse", "cafe\u0301": "caf\u00e9",
		"\u0130": "i\u0307", "\u01f0": "\u01f0", "J\u030c": "\u01f0", "\u0149": "\u02bcn", "CAF\u00c9": "caf\u00e9", ".g\u200cit": ".git", "日本": "日本", "\xff\xfe": "\ufffd\ufffd",
	} {
		if got := projectfs.Fold(name); got != want {
			t.Errorf("Fold(%q) = %q, want %q", name, got, want)
		}
	}
}
