package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/archive"
)

// member is an entry of an archive that a test makes.
type member struct {
	name, body, link string
	kind             byte // of tar; 0: a file, or a link if link is set
	mode             int64
	pax              map[string]string
}

func tarBytes(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Mode: m.mode, Size: int64(len(m.body)), Linkname: m.link, PAXRecords: m.pax}
		switch {
		case m.kind == tar.TypeXGlobalHeader:
			h = &tar.Header{Name: m.name, Typeflag: m.kind, PAXRecords: m.pax}
		case m.kind != 0:
		case m.link != "":
			h.Typeflag = tar.TypeSymlink
		case strings.HasSuffix(m.name, "/"):
			h.Typeflag = tar.TypeDir
		default:
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 && m.kind != tar.TypeXGlobalHeader {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func targz(t testing.TB, members ...member) []byte { return zipped(t, tarBytes(t, members...)) }

func zipBytes(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		mode := fs.FileMode(m.mode)
		if m.mode == 0 {
			mode = 0o644
		}
		body := m.body
		if m.link != "" {
			mode, body = fs.ModeSymlink|0o777, m.link
		}
		if m.kind == tar.TypeFifo {
			mode |= fs.ModeNamedPipe
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(m.name, "/") {
			if _, err := io.WriteString(f, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func open(format archive.Format, data []byte) *archive.File {
	return &archive.File{Format: format, Data: bytes.NewReader(data), Size: int64(len(data))}
}

// tree lists what was written to a directory: names, links, executable bits and contents.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			out[rel] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if info.Mode()&0o111 != 0 {
			data = append([]byte("x "), data...)
		}
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func TestExtract(t *testing.T) {
	t.Parallel()
	plain := []member{{name: "plugin.json", body: "{}"}, {name: "bin/run", body: "#!", mode: 0o4755}, {name: "skills/a/SKILL.md", body: "a"}}
	wrapped := []member{{name: "p-1.0/"}, {name: "p-1.0/plugin.json", body: "{}"}, {name: "p-1.0/bin/run", body: "#!", mode: 0o777}, {name: "p-1.0/skills/a/SKILL.md", body: "a"}}
	want := map[string]string{"plugin.json": "{}", "bin/run": "x #!", "skills/a/SKILL.md": "a"}
	links := []member{{name: "p/a", body: "a"}, {name: "p/to", link: "a"}, {name: "p/d/up", link: "../a"}, {name: "p/out", link: "../../x"}, {name: "p/edge", link: "../"},
		{name: "p/abs", link: "/etc/passwd"}, {name: "p/behind", link: "dir/../../x"}, {name: "p/dir", link: "d"}, {name: "p/.git/config", body: "x"}, {name: "p/loop", link: "loop"}}
	linked := map[string]string{"a": "a", "to": "-> a", "d/up": "-> ../a", "dir": "-> d"}
	for name, c := range map[string]struct {
		members []member
		want    map[string]string
		out     int
	}{
		"plain":         {plain, want, 0},
		"one folder":    {wrapped, want, 0},
		"links":         {links, linked, 5},
		"chains":        {[]member{{name: "p/a", body: "a"}, {name: "p/abs", link: "/etc"}, {name: "p/first", link: "abs"}, {name: "p/drive", link: `C:\x`}, {name: "p/second", link: "drive"}}, map[string]string{"a": "a"}, 4},
		"only skills":   {[]member{{name: "skills/a/SKILL.md", body: "a"}}, map[string]string{"skills/a/SKILL.md": "a"}, 0},
		"with ./":       {[]member{{name: "./"}, {name: "./a", body: "1"}, {name: "./b/c", body: "2"}}, map[string]string{"a": "1", "b/c": "2"}, 0},
		"empty":         {nil, map[string]string{}, 0},
		"dot directory": {[]member{{name: ".claude-plugin/plugin.json", body: "{}"}}, map[string]string{".claude-plugin/plugin.json": "{}"}, 0},
	} {
		for format, data := range map[archive.Format][]byte{archive.TarGzip: targz(t, c.members...), archive.Zip: zipBytes(t, c.members...)} {
			t.Run(name+"/"+string(format), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				content, err := open(format, data).Extract(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				if have := tree(t, dir); !equal(have, c.want) {
					t.Errorf("written: %v, want %v", have, c.want)
				}
				if len(content.LeftOut) != c.out {
					t.Errorf("left out: %q, want %d", content.LeftOut, c.out)
				}
			})
		}
	}
	t.Run("a commit in the global header", func(t *testing.T) {
		t.Parallel()
		data := targz(t, member{kind: tar.TypeXGlobalHeader, pax: map[string]string{"comment": "abc"}}, member{name: "a", body: "1"})
		if _, err := open(archive.TarGzip, data).Extract(t.Context(), t.TempDir()); err != nil {
			t.Error(err)
		}
	})
	t.Run("a name not marked as UTF-8", func(t *testing.T) { // of the program zip
		t.Parallel()
		var out bytes.Buffer
		z, dir := zip.NewWriter(&out), t.TempDir()
		_, err := z.CreateHeader(&zip.FileHeader{Name: "ü", NonUTF8: true})
		if err := errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := open(archive.Zip, out.Bytes()).Extract(t.Context(), dir); err != nil || !equal(tree(t, dir), map[string]string{"ü": ""}) {
			t.Errorf("%v, %v", tree(t, dir), err)
		}
	})
	t.Run("a commit in the comment", func(t *testing.T) {
		t.Parallel()
		for _, length := range []int{40, 64} {
			data := commented(zipBytes(t, member{name: "a", body: "1"}), strings.Repeat("a", length))
			if _, err := open(archive.Zip, data).Extract(t.Context(), t.TempDir()); err != nil {
				t.Error(err)
			}
		}
	})
}

// put returns data with bytes replaced at an offset; a negative one counts from the end.
func put(data []byte, at int, bytes ...byte) []byte {
	out := slices.Clone(data)
	if at < 0 {
		at += len(out)
	}
	copy(out[at:], bytes)
	return out
}

// renamedZip returns an archive whose file has another name in an extra field, "up" by its number, of both headers.
func renamedZip(t *testing.T) []byte {
	t.Helper()
	extra := slices.Concat([]byte("XX\x00\x00up\x08\x00\x01"), binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte("p/a"))), []byte("p/b"))
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	_, err := w.CreateHeader(&zip.FileHeader{Name: "p/a", Extra: extra})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// longName returns an archive of an empty file whose name is in an extension of the format, in the first 1024 bytes.
func longName(t *testing.T, format tar.Format, letter string) []byte {
	t.Helper()
	return oneTar(t, tar.Header{Format: format, Typeflag: tar.TypeReg, Name: "p/" + strings.Repeat(letter, 120), Mode: 0o644})
}

// longTarget is longName for the target of a link.
func longTarget(t *testing.T, format tar.Format, letter string) []byte {
	t.Helper()
	return oneTar(t, tar.Header{Format: format, Typeflag: tar.TypeSymlink, Name: "p/a", Linkname: strings.Repeat(letter, 120), Mode: 0o644})
}

func oneTar(t *testing.T, h tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.WriteHeader(&h), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sample is an archive that is refused.
type sample struct {
	name   string
	format archive.Format
	data   []byte
}

// hostile returns archives that two readers would take for different files, or that lead out of their directory.
func hostile(t *testing.T) (out []sample) {
	file := member{name: "p/a", body: "1"}
	both := map[string][]member{
		"dot dot":               {{name: "../a", body: "1"}},
		"dot dot inside":        {{name: "p/../../a", body: "1"}},
		"file without a name":   {{name: ".", body: "1"}},
		"dot dot that stays":    {{name: "p/../a", body: "1"}},
		"absolute":              {{name: "/tmp/a", body: "1"}},
		"backslash":             {{name: `..\a`, body: "1"}},
		"drive":                 {{name: `C:a`, body: "1"}},
		"stream":                {{name: "a:b", body: "1"}},
		"dot segment":           {{name: "p/./a", body: "1"}},
		"empty segment":         {{name: "p//a", body: "1"}},
		"twice":                 {file, file},
		"twice by case":         {file, {name: "p/A", body: "2"}},
		"twice by case folding": {{name: "p/\u017f", body: "1"}, {name: "p/s", body: "2"}},
		"twice by form":         {{name: "p/e\u0301", body: "1"}, {name: "p/\u00e9", body: "2"}},
		"twice by ./":           {{name: "./a", body: "1"}, {name: "a", body: "2"}},
		"file and directory":    {{name: "p/a", body: "1"}, {name: "p/a/b", body: "2"}},
		"directory by case":     {{name: "p/d/a", body: "1"}, {name: "p/D/b", body: "2"}},
		"listed by case":        {{name: "p/D/"}, {name: "p/d/b", body: "2"}},
		"below a link":          {{name: "p/d", link: "../.."}, {name: "p/d/a", body: "1"}},
		"below a link inside":   {{name: "p/e/"}, {name: "p/d", link: "e"}, {name: "p/d/a", body: "1"}},
		"link, then file":       {{name: "p/a", link: "b"}, {name: "p/a", body: "1"}},
		"file, then link":       {{name: "p/a", body: "1"}, {name: "p/a", link: "b"}},
		"link, then directory":  {{name: "p/a", link: "b"}, {name: "p/a/"}},
		"control character":     {{name: "p/a\x1b[2J", body: "1"}},
		"line feed":             {{name: "p/a\nb", body: "1"}},
		"right to left":         {{name: "p/a\u202etxt.exe", body: "1"}},
		"zero width":            {{name: "p/a\u200b", body: "1"}},
		"trailing dot":          {{name: "p/a.", body: "1"}},
		"trailing space":        {{name: "p/a ", body: "1"}},
		"long segment":          {{name: "p/" + strings.Repeat("a", 256), body: "1"}},
		"deep":                  {{name: strings.Repeat("a/", 65) + "a", body: "1"}},
		"pipe":                  {{name: "p/a", kind: tar.TypeFifo}},
		"endless target":        {{name: "p/a", link: strings.Repeat("a/", 3000)}},
	}
	gz, tarOnly := func(m ...member) []byte { return targz(t, m...) }, map[string][]byte{}
	tarOnly["hard link"] = gz(file, member{name: "p/b", kind: tar.TypeLink, link: "p/a"})
	tarOnly["hard link out"] = gz(member{name: "b", kind: tar.TypeLink, link: "/etc/passwd"})
	tarOnly["character device"] = gz(member{name: "p/a", kind: tar.TypeChar})
	tarOnly["block device"] = gz(member{name: "p/a", kind: tar.TypeBlock})
	tarOnly["global path"] = gz(member{kind: tar.TypeXGlobalHeader, pax: map[string]string{"path": "../a"}}, file)
	tarOnly["global link"] = gz(member{kind: tar.TypeXGlobalHeader, pax: map[string]string{"linkpath": "/"}}, file)
	tarOnly["global size"] = gz(member{kind: tar.TypeXGlobalHeader, pax: map[string]string{"size": "5"}}, file)
	whole := gz(file)
	tarOnly["bytes behind gzip"] = append(slices.Clone(whole), 'x')
	tarOnly["second gzip member"] = append(slices.Clone(whole), whole...)
	tarOnly["checksum"] = put(whole, -8, 0xff, 0xff)
	tarOnly["length"] = put(whole, -4, 0xff)
	tarOnly["cut"] = whole[:len(whole)-9]
	tarOnly["cut in the middle"] = whole[:len(whole)/2]
	tarOnly["entries behind the end"] = zipped(t, append(tarBytes(t, file), tarBytes(t, member{name: "p/b", body: "2"})...))
	tarOnly["text behind the end"] = zipped(t, append(tarBytes(t, file), "hello"...))
	tarOnly["no gzip"] = tarBytes(t, file)
	tarOnly["empty"] = nil
	tarOnly["zip"] = zipBytes(t, file)
	tarOnly["header checksum"] = zipped(t, put(tarBytes(t, file), 149, '9', '9'))
	tarOnly["not UTF-8"] = zipped(t, fixTar(put(tarBytes(t, file), 2, 0xff)))
	tarOnly["sparse"] = zipped(t, fixTar(put(tarBytes(t, file), 156, 'S')))
	tarOnly["reserved type"] = zipped(t, fixTar(put(tarBytes(t, file), 156, 'z')))
	tarOnly["contiguous"] = zipped(t, fixTar(put(tarBytes(t, file), 156, '7')))
	tarOnly["file with a slash"] = zipped(t, fixTar(put(tarBytes(t, member{name: "p/ab", body: "1"}), 3, '/')))
	tarOnly["link with a slash"] = zipped(t, fixTar(put(tarBytes(t, member{name: "p/ab", link: "c"}), 3, '/')))
	tarOnly["two names"] = zipped(t, slices.Concat(longName(t, tar.FormatPAX, "a")[:1024], longName(t, tar.FormatGNU, "b")))
	tarOnly["two targets"] = zipped(t, slices.Concat(longTarget(t, tar.FormatPAX, "a")[:1024], longTarget(t, tar.FormatGNU, "b")))
	tarOnly["directory with content"] = zipped(t, fixTar(put(tarBytes(t, file), 156, '5')))

	good, two := zipBytes(t, file), zipBytes(t, file, member{name: "p/b", body: "2"})
	known, directory := storedKnown(t, 0o644), storedKnown(t, fs.ModeDir|0o755)
	second := renamedZip(t)
	zipOnly := map[string][]byte{
		"two names":              put(second, bytes.LastIndex(second, []byte("up")), 'x'),
		"two names in directory": put(second, bytes.Index(second, []byte("up")), 'x'),
		"other checksum":         put(known, 14, 0xff),
		"other size":             put(known, 18, 0xff),
		"directory with content": directory,
		"cut local header":       put(known, 26, 0xff, 0xff),
		"directory too early":    put(good, -6, good[len(good)-6]-1),
		"directory too late":     put(good, -6, 0xff, 0xff),
		"prefix":                 append([]byte("#!/bin/sh\n"), good...),
		"suffix":                 append(slices.Clone(good), "\n"...),
		"comment":                commented(good, "hello"),
		"no commit":              commented(good, strings.Repeat("g", 40)),
		"cut":                    good[:len(good)-1],
		"empty":                  nil,
		"tar":                    whole,
		"other name":             put(good, 30, 'q'),
		"other method":           put(good, 8, 0),
		"other flags":            put(good, 6, 9),
		"local signature":        put(good, 0, 'X'),
		"descriptor":             put(good, bytes.Index(good, []byte("PK\x07\x08"))+5, 0xff),
		"fewer files at the end": put(put(two, -12, 1), -14, 1),
		"another disk":           put(good, -18, 1),
		"encrypted":              put(put(good, 6, 9), bytes.Index(good, []byte("PK\x01\x02"))+8, 9),
		"unknown method":         put(put(good, 8, 12), bytes.Index(good, []byte("PK\x01\x02"))+10, 12),
		"hidden file":            hidden(t),
		"directory twice":        append(slices.Clone(good), good...),
		"stored without a size":  storedLater(t),
		"content":                put(good, 33, 0xff, 0xff),
		"not UTF-8":              zipBytes(t, member{name: "p/\xff", body: "1"}),
	}
	for name, members := range both {
		out = append(out, sample{name, archive.TarGzip, targz(t, members...)})
		if name != "endless target" {
			out = append(out, sample{name, archive.Zip, zipBytes(t, members...)})
		}
	}
	for name, data := range tarOnly {
		out = append(out, sample{name, archive.TarGzip, data})
	}
	for name, data := range zipOnly {
		out = append(out, sample{name, archive.Zip, data})
	}
	return out
}

// TestHostile: hostile archives are refused, and nothing is written.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, s := range hostile(t) {
		t.Run(s.name+"/"+string(s.format), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := open(s.format, s.data).Extract(t.Context(), dir)
			if !errors.Is(err, archive.ErrUnsafe) {
				t.Errorf("Extract() = %v, want ErrUnsafe", err)
			}
			if have := tree(t, dir); len(have) > 0 {
				t.Errorf("written: %v", have)
			}
		})
	}
}

// fixTar computes the checksum of the first header again.
func fixTar(data []byte) []byte {
	copy(data[148:156], "        ")
	sum := 0
	for _, b := range data[:512] {
		sum += int(b)
	}
	copy(data[148:156], []byte{'0' + byte(sum>>15&7), '0' + byte(sum>>12&7), '0' + byte(sum>>9&7), '0' + byte(sum>>6&7), '0' + byte(sum>>3&7), '0' + byte(sum&7), 0, ' '})
	return data
}

// commented adds a comment to a zip.
func commented(data []byte, text string) []byte {
	out := append(slices.Clone(data), text...)
	binary.LittleEndian.PutUint16(out[len(data)-2:], uint16(len(text)))
	return out
}

// hidden returns a zip with a local file that the central directory does not list.
func hidden(t *testing.T) []byte {
	t.Helper()
	first, second := zipBytes(t, member{name: "p/a", body: "1"}), zipBytes(t, member{name: "p/b", body: "2"})
	local := first[:bytes.Index(first, []byte("PK\x01\x02"))]
	out := slices.Concat(local, second)
	directory := bytes.Index(second, []byte("PK\x01\x02"))
	offset := binary.LittleEndian.Uint32(second[len(second)-6:]) + uint32(len(local))
	binary.LittleEndian.PutUint32(out[len(out)-6:], offset)
	binary.LittleEndian.PutUint32(out[len(local)+directory+42:], uint32(len(local)))
	return out
}

// storedLater returns a zip with an uncompressed file whose size follows its data: where it ends is a guess.
func storedLater(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "p/a", Method: zip.Store})
	if err == nil {
		_, err = io.WriteString(f, "123")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// storedKnown returns a zip with an uncompressed file whose size is before its data, as other programs write it.
func storedKnown(t *testing.T, mode fs.FileMode) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "p/a", Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte("123")), CompressedSize64: 3, UncompressedSize64: 3}
	h.SetMode(mode)
	f, err := w.CreateRaw(h)
	if err == nil {
		_, err = io.WriteString(f, "123")
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	for name, body := range map[string]string{"plugin.json": "{}", "sub/dir/a": "a", ".gitattributes": "sub export-ignore\n* text eol=crlf\n", "big": strings.Repeat("line\n", 50000)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("sub/dir/a", filepath.Join(dir, "to")), os.Symlink("../../etc", filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("update-index", "--chmod=+x", "sub/dir/a")
	git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,module")
	git("commit", "-qm", "one")
	for name, c := range map[string]struct {
		at   string
		want map[string]string
		out  int
	}{
		"whole": {"HEAD", map[string]string{"plugin.json": "{}", "sub/dir/a": "x a", "to": "-> sub/dir/a", ".gitattributes": "sub export-ignore\n* text eol=crlf\n", "big": strings.Repeat("line\n", 50000)}, 2},
		"part":  {"HEAD:sub/dir", map[string]string{"a": "x a"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			into := t.TempDir()
			g := archive.Git{Tree: c.at, Command: func(ctx context.Context, args ...string) *exec.Cmd {
				return exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
			}}
			content, err := g.Extract(t.Context(), into)
			if err != nil {
				t.Fatal(err)
			}
			if have := tree(t, into); !equal(have, c.want) {
				t.Errorf("written: %v, want %v", have, c.want)
			}
			if len(content.LeftOut) != c.out {
				t.Errorf("left out: %q", content.LeftOut)
			}
		})
	}
}

// TestGitBomb reads a tree of trees without files: 10^12 directories in twelve objects.
func TestGitBomb(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	git := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "--bare")
	tree := git("", "mktree")
	for range 12 {
		var list strings.Builder
		for i := range 10 {
			fmt.Fprintf(&list, "040000 tree %s\td%d\n", tree, i)
		}
		tree = git(list.String(), "mktree")
	}
	g := archive.Git{Tree: tree, Command: func(ctx context.Context, args ...string) *exec.Cmd {
		return exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	}}
	if _, err := g.Extract(t.Context(), t.TempDir()); !errors.Is(err, archive.ErrUnsafe) {
		t.Errorf("Extract() = %v, want ErrUnsafe", err)
	}
}

func FuzzTar(f *testing.F) {
	f.Add(targz(f, member{name: "p/a", body: "1"}, member{name: "p/b", link: "a"}))
	f.Add(targz(f, member{kind: tar.TypeXGlobalHeader, name: "pax_global_header", pax: map[string]string{"comment": "c"}}, member{name: "p/", kind: tar.TypeDir},
		member{name: "p/" + strings.Repeat("d/", 60) + "é", body: "1", mode: 0o755}, member{name: "p/c", body: "2", pax: map[string]string{"mtime": "1.5"}}))
	for _, m := range []member{
		{name: "p/a", body: "2"}, {name: "p/A", body: "2"}, {name: "p/a/b", body: "2"}, {name: "../p", body: "2"}, {name: "p/b", link: "../../x"}, {name: "p/b", link: "b"},
		{name: "p/.git/config", body: "2"}, {name: "p/f", kind: tar.TypeFifo}, {name: "p/h", kind: tar.TypeLink, link: "p/a"}, {name: "p/e\x1b", body: "2"}, {name: "con", body: "2"},
	} {
		f.Add(targz(f, member{name: "p/a", body: "1"}, m))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, archive.TarGzip, data) })
}

func FuzzZip(f *testing.F) {
	f.Add(zipBytes(f, member{name: "p/a", body: "1"}, member{name: "p/b", link: "a"}))
	f.Add(zipBytes(f, member{name: "p/"}, member{name: "p/é", body: strings.Repeat("1", 1000), mode: 0o755}, member{name: "p/f", kind: tar.TypeFifo}))
	f.Add(zipBytes(f, member{name: "p/a", body: "1"}, member{name: "p/a", body: "2"}, member{name: "../x"}, member{name: `p\b`, link: "../../x"}))
	f.Fuzz(func(t *testing.T, data []byte) { fuzz(t, archive.Zip, data) })
}

// fuzz extracts an archive: what is refused is not written, and nothing gets out of the directory.
func fuzz(t *testing.T, format archive.Format, data []byte) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "into")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := open(format, data).Extract(t.Context(), dir)
	if err != nil && len(tree(t, dir)) > 0 && errors.Is(err, archive.ErrUnsafe) {
		t.Errorf("refused, but written: %v", tree(t, dir))
	}
	if list, _ := os.ReadDir(parent); len(list) != 1 {
		t.Errorf("written outside: %v", list)
	}
}
