package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/plugins/remote"
)

// checkProgram compares the file to start with the approved checksum, if there is one. The file belongs to the sealed copy of the plugin,
// which confined processes cannot write, so it does not change before it runs.
func checkProgram(u *remote.Unit) error {
	if u.Checksum == "" {
		return nil
	}
	f, _, err := projectfs.OpenRegular(u.Program)
	if err != nil {
		return fmt.Errorf("program %s: %w", u.Program, err)
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read %s: %w", u.Program, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.ToLower(u.Checksum) {
		return fmt.Errorf("%w: %s has the digest sha256:%s, approved is sha256:%s; review the change, then approve the plugin again",
			ErrDigest, u.Program, got, u.Checksum)
	}
	return nil
}
