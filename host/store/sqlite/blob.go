package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// window is the size of the compressor's window, which determines its memory. Tool outputs repeat themselves within far less.
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

func pack(content []byte) ([]byte, error) {
	z, err := encoder()
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(content, nil), nil
}

func unpack(data []byte) ([]byte, error) {
	z, err := decoder()
	if err != nil {
		return nil, err
	}
	return z.DecodeAll(data, nil)
}

func (s *Store) encodeBlob(content []byte) (change, error) {
	hash := store.Hash(content)
	data, err := pack(content)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", hash, err)
	}
	return func(x *edit) {
		x.Exec("INSERT INTO blob(hash, data) VALUES(?, ?) ON CONFLICT DO NOTHING", hash, data) // once for all sessions
		x.Exec("INSERT INTO blob_session(session, blob) SELECT ?, key FROM blob WHERE hash = ? ON CONFLICT DO NOTHING", x.session, hash)
	}, nil
}

// Blob returns the content with the hash.
func (s *Store) Blob(ctx context.Context, hash string) (content []byte, err error) {
	var problem error
	err = s.read(ctx, func(c *database.Conn) (err error) {
		content, _, problem, err = s.readBlob(ctx, c, hash)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case problem == errMissing:
		return nil, fmt.Errorf("blob %s: %w", hash, store.ErrNotFound)
	case problem != nil:
		return nil, s.damageError([]store.Damage{{Type: store.DamagedBlob, ID: hash, Problem: problem.Error()}})
	}
	return content, nil
}

// readBlob returns the content with the hash, or its problem and the stored row.
func (s *Store) readBlob(ctx context.Context, c *database.Conn, hash string) (content, row []byte, problem, err error) {
	row, found, err := c.Bytes(ctx, "SELECT CAST(data AS BLOB) FROM blob WHERE hash = ?", hash)
	switch {
	case database.Corrupt(err):
		return nil, nil, errPage, nil
	case err != nil:
		return nil, nil, nil, err
	case !found:
		return nil, nil, errMissing, nil
	}
	if content, err = unpack(row); err != nil || store.Hash(content) != hash {
		return nil, row, errContent, nil
	}
	return content, nil, nil, nil
}
