package files

import (
	"path/filepath"
	"strings"
)

// sniffBytes is the number of bytes that determine the type of a file.
const sniffBytes = 4096

// binaryExtensions are the extensions of files that are never text, separated by spaces.
const binaryExtensions = " .zip .tar .gz .tgz .bz2 .xz .zst .7z .rar .exe .dll .so .dylib .a .lib .o .obj .class .jar .war " +
	".pyc .pyo .wasm .bin .dat .db .sqlite .doc .docx .xls .xlsx .ppt .pptx .odt .ods .odp .mp3 .mp4 .mov .avi .mkv .wav " +
	".flac .ogg .ico .bmp .tiff .woff .woff2 .ttf .otf .eot "

// isBinary reports whether a file is not text, from its name and beginning: by its extension, a NUL
// byte, or more than 30 % control characters.
func isBinary(name string, head []byte) bool {
	if ext := strings.ToLower(filepath.Ext(name)); ext != "" && strings.Contains(binaryExtensions, " "+ext+" ") {
		return true
	}
	head = head[:min(len(head), sniffBytes)]
	control := 0
	for _, c := range head {
		if c == 0 {
			return true
		}
		if c < '\t' || c > '\r' && c < ' ' && c != 0x1b {
			control++
		}
	}
	return control*10 > len(head)*3
}
