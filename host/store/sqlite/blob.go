package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/tenonhq/tenon/host/store"
)

// window is the size of the compressor's window, which determines its memory. Repetitions in tool outputs are much closer together.
const window = 256 << 10

// The encoder and the decoder of blobs take less than a megabyte each. They are created at their first use.
var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	})
)

func (s *Store) encodeBlob(content []byte) (change, error) {
	hash := store.Hash(content)
	z, err := encoder()
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", hash, err)
	}
	data := z.EncodeAll(content, nil)
	return func(x *edit) {
		x.Exec("INSERT INTO blob(hash, data) VALUES(?, ?) ON CONFLICT DO NOTHING", hash, data) // once for all sessions
		x.Exec("INSERT INTO blob_session(session, blob) SELECT ?, key FROM blob WHERE hash = ? ON CONFLICT DO NOTHING", x.session, hash)
	}, nil
}

// Blob returns the content with the hash.
func (s *Store) Blob(ctx context.Context, hash string) (content []byte, err error) {
	err = s.read(ctx, func(x *view) {
		var problem error
		content, _, problem = x.blob(hash)
		if problem == errMissing {
			x.Fail(fmt.Errorf("blob %s: %w", hash, store.ErrNotFound))
		} else if problem != nil {
			x.note(store.Damage{Type: store.DamagedBlob, ID: hash}, 0, nil, problem)
		}
	})
	return content, err
}

// blob returns the content with the hash, or its problem and the stored row.
func (x *view) blob(hash string) (content, row []byte, problem error) {
	row, found := x.Bytes("SELECT CAST(data AS BLOB) FROM blob WHERE hash = ?", hash)
	if x.Damaged() {
		return nil, nil, errPage
	}
	if !found {
		return nil, nil, errMissing
	}
	z, err := decoder()
	if err == nil {
		content, err = z.DecodeAll(row, nil)
	}
	if err != nil || store.Hash(content) != hash {
		return nil, row, errContent
	}
	return content, nil, nil
}
