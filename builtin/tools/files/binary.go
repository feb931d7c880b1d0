package files

import (
	"bytes"
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

// attachable returns the MIME type of a file that can be attached for the model, from its beginning; "" for others.
func attachable(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return "application/pdf"
	}
	return ""
}
