package wire_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
)

func TestOversizedImage(t *testing.T) {
	t.Parallel()
	var small, tall, wide, long bytes.Buffer
	for _, err := range []error{
		png.Encode(&small, image.NewGray(image.Rect(0, 0, 8000, 1))),
		png.Encode(&tall, image.NewGray(image.Rect(0, 0, 1, 8001))),
		jpeg.Encode(&wide, image.NewGray(image.Rect(0, 0, 8001, 1)), nil),
		gif.Encode(&long, image.NewPaletted(image.Rect(0, 0, 1, 8002), palette.WebSafe), nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for data, want := range map[string]string{
		"QQ==":                       "",
		strings.Repeat("QUFB", 1000): "more than 0 MiB",
		base64.StdEncoding.EncodeToString(small.Bytes()): "",
		base64.StdEncoding.EncodeToString(tall.Bytes()):  "a.png cannot be shown: it has 1 × 8001 pixels",
		base64.StdEncoding.EncodeToString(wide.Bytes()):  "a.png cannot be shown: it has 8001 × 1 pixels",
		base64.StdEncoding.EncodeToString(long.Bytes()):  "a.png cannot be shown: it has 1 × 8002 pixels",
	} {
		if got := wire.OversizedImage("a.png", data, 3999); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("OversizedImage(%.20s…) = %q, want %q", data, got, want)
		}
	}
}
