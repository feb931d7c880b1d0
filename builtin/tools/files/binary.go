package files

import (
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/internal/media"
)

// sniffBytes is the number of bytes that determine the type of a file.
const sniffBytes = 4096

// binaryExtensions are the extensions of files that are never text, separated by spaces.
const binaryExtensions = " .zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .exe .dll .so .dylib .a .lib .o .obj .class .jar .war " +
	".pyc .pyo .wasm .bin .dat .db .sqlite .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .mp3 .mp4 .mov .avi .mkv .wav " +
	".flac .ogg .ico .bmp .tiff .woff .woff2 .ttf .otf .eot "

// isBinary reports whether a file is not text, by the extension of its name and its beginning.
func isBinary(name string, head []byte) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext != "" && strings.Contains(binaryExtensions, " "+ext+" ") || media.Binary(head[:min(len(head), sniffBytes)])
}
