package rewrite

import "bytes"

// maxGap is how many zeros between two data segments are written out to make one of them.
const maxGap = 256

// Kinds of data segments.
const (
	dataActive  = 0
	dataPassive = 1
	dataIndexed = 2 // active, with the index of the memory
)

// segment is a data segment. place is the expression of its offset; offset is its value when that is a constant.
type segment struct {
	kind    uint32
	place   []byte
	offset  int64
	isConst bool
	content []byte
	owned   bool // content is no part of the module as it was
}

// dataSection writes the data segments. Go's linker makes tens of thousands, each of which costs memory in every instance, so
// neighbours are joined when nothing names them: memory is zero where no segment was.
func (w *writer) dataSection(r *reader) {
	n := r.count("data segments", maxSegments)
	var joined []segment
	for range n {
		s := w.segment(r)
		if r.err != nil {
			return
		}
		last := len(joined) - 1
		if last < 0 || w.namesData || !joined[last].join(&s) {
			joined = append(joined, s)
		}
	}
	w.buf = appendU32(w.buf, uint32(len(joined)))
	for i := range joined {
		s := &joined[i]
		w.buf = appendU32(w.buf, s.kind)
		if s.kind == dataIndexed {
			w.buf = append(w.buf, 0)
		}
		w.buf = append(w.buf, s.place...)
		w.buf = appendU32(w.buf, uint32(len(s.content)))
		w.buf = append(w.buf, s.content...)
	}
}

func (w *writer) segment(r *reader) segment {
	s := segment{kind: r.u32()}
	switch s.kind {
	case dataActive:
	case dataIndexed:
		r.zero()
	case dataPassive:
		s.content = r.take(r.u32())
		return s
	default:
		r.fail("a data segment of kind %d", s.kind)
		return s
	}
	start := r.pos
	s.place = w.constant(nil, r)
	if r.err == nil && r.data[start] == opI32Const {
		number := &reader{data: r.data[start+1 : r.pos]}
		s.offset = int64(uint32(number.s33()))
		s.isConst = number.err == nil && bytes.Equal(number.data[number.pos:], []byte{opEnd})
	}
	s.content = r.take(r.u32())
	return s
}

// join puts next behind s, if it stands a little behind it in memory.
func (s *segment) join(next *segment) bool {
	end := s.offset + int64(len(s.content))
	gap := next.offset - end
	if s.kind != dataActive || next.kind != dataActive || !s.isConst || !next.isConst || gap < 0 || gap > maxGap || len(next.content) == 0 {
		return false
	}
	if !s.owned {
		s.content, s.owned = bytes.Clone(s.content), true
	}
	s.content = append(append(s.content, make([]byte, gap)...), next.content...)
	return true
}
