package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// Records of the zip format, of PKWARE's APPNOTE.TXT 6.3.10, section 4.3.
const (
	zipLocal      = 0x04034b50
	zipDescriptor = 0x08074b50
	zipEnd        = 0x06054b50
	extraName     = 0x7075
	localBytes    = 30 // a local header without its name
	endBytes      = 22 // the end record without a comment
	flagEncrypted = 1 << 0
	flagLater     = 1 << 3 // sizes and checksum follow the data
)

type zipFile struct{ *File }

// each reads the files in the order of the central directory, which must agree with the local headers.
func (f zipFile) each(ctx context.Context, visit visitor) error {
	end, err := f.directory()
	if err != nil {
		return err
	}
	r, err := zip.NewReader(f.Data, f.Size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are checked below
		return fmt.Errorf("%w: not a zip file: %w", ErrUnsafe, err)
	}
	if err := f.layout(r.File, end); err != nil {
		return err
	}
	for _, file := range r.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := zipEntry(file, visit); err != nil {
			return err
		}
	}
	return nil
}

// maxDirectory limits the central directory, in bytes: for each entry a name and its extra fields.
const maxDirectory = maxEntries * 1024

// commit matches the comment of an archive that git made, also as GitHub offers it: none, or the commit.
var commit = lazyregexp.New(`^(?:[0-9a-f]{40}|[0-9a-f]{64})?$`)

// directory bounds the central directory, all of which is read into memory, and returns the end record with its comment.
func (f zipFile) directory() ([]byte, error) {
	for _, length := range []int{0, 40, 64} {
		record := make([]byte, endBytes+length)
		start := f.Size - int64(len(record))
		if _, err := f.Data.ReadAt(record, start); start < 0 || err != nil || binary.LittleEndian.Uint32(record) != zipEnd || !commit().Match(record[endBytes:]) {
			continue
		}
		if size := start - int64(binary.LittleEndian.Uint32(record[16:])); size > maxDirectory || size < 0 {
			return nil, fmt.Errorf("%w: a directory of %d bytes, the limit is %d", ErrUnsafe, size, maxDirectory)
		}
		return record, nil
	}
	return nil, fmt.Errorf("%w: not a zip file, or a comment or data at its end", ErrUnsafe)
}

func zipEntry(file *zip.File, visit visitor) error {
	e := Entry{Name: file.Name, Kind: KindFile, Size: int64(file.UncompressedSize64), Exec: file.Mode()&0o111 != 0}
	content, err := file.Open()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrUnsafe, shown(file.Name), err)
	}
	defer content.Close()
	switch kind := file.Mode().Type(); kind {
	case 0:
		err = visit(e, content)
	case fs.ModeDir:
		e.Kind = KindDir
		if e.Size != 0 {
			return unsafe(e.Name, "a directory with content")
		}
		err = visit(e, nil)
	case fs.ModeSymlink:
		target, readErr := io.ReadAll(io.LimitReader(content, maxTarget+1))
		if readErr != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnsafe, shown(e.Name), readErr)
		}
		e.Kind, e.Target = KindLink, string(target)
		err = visit(e, nil)
	default:
		return unsafe(e.Name, "not a file, directory or symbolic link (%s)", kind)
	}
	return broken(err)
}

// layout walks the local headers from the first byte, because some programs use them instead of the central directory. Files
// follow each other without a gap, then the central directory, then the end record, and each local header agrees with the
// central directory.
func (f zipFile) layout(files []*zip.File, end []byte) error {
	type located struct {
		*zip.File
		data int64
	}
	list := make([]located, 0, len(files))
	for _, file := range files {
		data, err := file.DataOffset()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUnsafe, shown(file.Name), err)
		}
		list = append(list, located{file, data})
	}
	slices.SortStableFunc(list, func(a, b located) int { return cmp.Compare(a.data, b.data) })
	at := int64(0)
	for _, file := range list {
		data, err := f.local(at, file.File)
		if err != nil {
			return err
		}
		if data != file.data {
			return unsafe(file.Name, "its data begins at byte %d, expected %d", file.data, data)
		}
		if at, err = f.after(data, file.File); err != nil {
			return err
		}
	}
	n := uint16(len(files)) // more files are refused elsewhere
	noDisks, comment := uint32(0), end[endBytes:]
	if !bytes.Equal(end, record(uint32(zipEnd), noDisks, n, n, uint32(f.Size-int64(len(end))-at), uint32(at), uint16(len(comment)), comment)) {
		return fmt.Errorf("%w: its end record does not describe its %d files, which end at byte %d", ErrUnsafe, len(files), at)
	}
	return nil
}

// record returns fields as the format writes them.
func record(fields ...any) (out []byte) {
	for _, field := range fields {
		out, _ = binary.Append(out, binary.LittleEndian, field) // of a fixed size
	}
	return out
}

// local checks the local header at an offset and returns where the data begins.
func (f zipFile) local(at int64, file *zip.File) (int64, error) {
	head := make([]byte, localBytes)
	if _, err := f.Data.ReadAt(head, at); err != nil {
		return 0, unsafe(file.Name, "no local header at byte %d", at)
	}
	short := func(n int) uint16 { return binary.LittleEndian.Uint16(head[n:]) }
	long := func(n int) uint32 { return binary.LittleEndian.Uint32(head[n:]) }
	rest := make([]byte, int(short(26))+int(short(28)))
	if _, err := f.Data.ReadAt(rest, at+localBytes); err != nil {
		return 0, unsafe(file.Name, "a cut local header at byte %d", at)
	}
	name, extra := string(rest[:short(26)]), rest[short(26):]
	other := cmp.Or(renamed(file.Name, extra), renamed(file.Name, file.Extra))
	later := file.Flags&flagLater != 0
	switch {
	case long(0) != zipLocal:
		return 0, unsafe(file.Name, "a gap before it, at byte %d", at)
	case name != file.Name:
		return 0, unsafe(file.Name, "its local header has another name, %s", shown(name))
	case other != "":
		return 0, unsafe(file.Name, "it is also named %s; some programs use that name", shown(other))
	case short(6) != file.Flags || short(8) != file.Method:
		return 0, unsafe(file.Name, "its local header has another method")
	case file.Flags&flagEncrypted != 0:
		return 0, unsafe(file.Name, "it is encrypted")
	case file.Method != zip.Store && file.Method != zip.Deflate:
		return 0, unsafe(file.Name, "unknown compression method %d", file.Method)
	case later && file.Method == zip.Store && file.CompressedSize64 > 0:
		return 0, unsafe(file.Name, "stored, with its size after the data")
	case !later && (long(14) != file.CRC32 || uint64(long(18)) != file.CompressedSize64 || uint64(long(22)) != file.UncompressedSize64):
		return 0, unsafe(file.Name, "its local header has another size or checksum")
	}
	return at + localBytes + int64(len(rest)), nil
}

// renamed returns the name that an extra field of Info-ZIP (section 4.6.9) gives an entry; empty if it is the same name.
func renamed(own string, extra []byte) string {
	for len(extra) >= 4 {
		id, size := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		field := extra[4:min(4+size, len(extra))]
		if id == extraName && len(field) > 5 && string(field[5:]) != own { // after a version and a checksum
			return string(field[5:])
		}
		extra = extra[4+len(field):]
	}
	return ""
}

// after returns the end of a file, including the descriptor that may follow its data, with or without a signature, of 32 or 64 bits.
func (f zipFile) after(data int64, file *zip.File) (int64, error) {
	at := data + int64(file.CompressedSize64)
	if file.Flags&flagLater == 0 {
		return at, nil
	}
	have := make([]byte, 24)
	n, _ := f.Data.ReadAt(have, at)
	sizes := []uint64{file.CompressedSize64, file.UncompressedSize64}
	sizes32 := []uint32{uint32(sizes[0]), uint32(sizes[1])}
	for _, want := range [][]byte{
		record(uint32(zipDescriptor), file.CRC32, sizes), record(uint32(zipDescriptor), file.CRC32, sizes32),
		record(file.CRC32, sizes), record(file.CRC32, sizes32),
	} {
		if bytes.HasPrefix(have[:n], want) {
			return at + int64(len(want)), nil
		}
	}
	return 0, unsafe(file.Name, "the size after its data differs")
}
