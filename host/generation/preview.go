package generation

import (
	"strings"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// samplePreview bounds the part of a request to the model that the user sees, in bytes.
const samplePreview = 2000

// PreviewOf returns the beginning of a request, for the user.
func PreviewOf(req *sdk.SampleRequest) string {
	texts := []string{req.System}
	for i := range req.Messages {
		texts = append(texts, convert.Text(&req.Messages[i]))
	}
	for i := range req.Tools {
		texts = append(texts, "tool: "+req.Tools[i].ID)
	}
	return visible.Cut(strings.TrimSpace(strings.Join(texts, "\n")), samplePreview, " […]")
}
