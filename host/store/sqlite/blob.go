package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/tenonhq/tenon/host/store"
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
	return func(x *tx) error { return x.putBlob(hash, data) }, nil
}

// putBlob stores the content once and notes that the session needs it.
func (x *tx) putBlob(hash string, data []byte) error {
	if err := x.exec("INSERT INTO blob(hash, data) VALUES(?, ?) ON CONFLICT DO NOTHING", hash, data); err != nil {
		return err
	}
	return x.exec("INSERT INTO blob_session(session, blob) SELECT ?, key FROM blob WHERE hash = ? ON CONFLICT DO NOTHING", x.session, hash)
}

// Blob returns the content with the hash.
func (s *Store) Blob(ctx context.Context, hash string) ([]byte, error) {
	var data []byte
	var found bool
	err := s.read(ctx, func(c *conn) (err error) {
		data, found, err = readBlob(ctx, c, hash)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return nil, err
	}
	problem := errPage
	switch {
	case err == nil && !found:
		return nil, fmt.Errorf("blob %s: %w", hash, store.ErrNotFound)
	case err == nil:
		if content, err := s.zstd.unpack(data); err == nil && store.Hash(content) == hash {
			return content, nil
		}
		problem = errContent
	}
	return nil, s.damageError([]store.Damage{{Type: store.DamagedBlob, ID: hash, Problem: problem.Error()}})
}

func readBlob(ctx context.Context, c *conn, hash string) (data []byte, found bool, err error) {
	found, err = c.first(ctx, "SELECT CAST(data AS BLOB) FROM blob WHERE hash = ?", func(r row) { data = r.bytes(0) }, hash)
	return data, found, err
}

// sound reports whether the data, as it is stored, is the content with the hash.
func (s *Store) sound(hash string, data []byte) bool {
	content, err := s.zstd.unpack(data)
	return err == nil && store.Hash(content) == hash
}
