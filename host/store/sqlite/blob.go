package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
)

// window bounds what the compressor remembers of the text before, and with it the memory it takes.
// Tool outputs repeat themselves within far less.
const window = 256 << 10

// codec compresses blobs. Its two halves are made when first used and take less than a megabyte each.
type codec struct {
	once  sync.Once
	coder *zstd.Encoder
	err   error

	decodeOnce sync.Once
	decoder    *zstd.Decoder
	decodeErr  error
}

func (z *codec) pack(content []byte) ([]byte, error) {
	z.once.Do(func() {
		z.coder, z.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	})
	if z.err != nil {
		return nil, z.err
	}
	return z.coder.EncodeAll(content, nil), nil
}

func (z *codec) unpack(data []byte) ([]byte, error) {
	z.decodeOnce.Do(func() {
		z.decoder, z.decodeErr = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	})
	if z.decodeErr != nil {
		return nil, z.decodeErr
	}
	return z.decoder.DecodeAll(data, nil)
}

func (s *Store) encodeBlob(content []byte) (change, error) {
	hash := store.Hash(content)
	data, err := s.zstd.pack(content)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", hash, err)
	}
	return func(x *edit) {
		x.Exec("INSERT INTO blob(hash, data) VALUES(?, ?) ON CONFLICT DO NOTHING", hash, data) // once, however many sessions need it
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

// readBlob returns the content with the hash, or the problem that it has and the row as it is stored.
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
	if content, err = s.zstd.unpack(row); err != nil || store.Hash(content) != hash {
		return nil, row, errContent, nil
	}
	return content, nil, nil, nil
}
