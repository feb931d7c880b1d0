package rewrite

import (
	"bytes"
	"cmp"
	"slices"
)

// maxGap is the maximum number of zeros that are inserted to join two data segments.
const maxGap = 256

// Kinds of data segments.
const (
	dataActive  = 0
	dataPassive = 1
	dataIndexed = 2 // active, with the index of the memory
)

// segment is a data segment. place is the expression of its offset; offset is its value if that is constant.
type segment struct {
	kind    uint32
	place   []byte
	offset  int64
	isConst bool
	content []byte
}

// end returns the end of the segment in memory.
func (s *segment) end() int64 { return s.offset + int64(len(s.content)) }

// dataSection writes the data segments.
func (w *writer) dataSection(r *reader) {
	n := r.count("data segments", maxSegments)
	w.countedSegments(r, n)
	segments := make([]segment, n)
	for i := range segments {
		w.segment(r, &segments[i])
		if r.err != nil {
			return
		}
	}
	segments = w.joined(segments)
	w.buf = appendU32(w.buf, uint32(len(segments)))
	for i := range segments {
		s := &segments[i]
		w.buf = appendU32(w.buf, s.kind)
		if s.kind == dataIndexed {
			w.buf = append(w.buf, 0)
		}
		w.buf = append(w.buf, s.place...)
		w.buf = appendU32(w.buf, uint32(len(s.content)))
		w.buf = append(w.buf, s.content...)
	}
}

// joined returns the segments in the order of their offsets, with neighbors joined by zeros in the gap: Go's linker makes tens of thousands, each
// of which costs memory in every instance. Joining is safe if the module defines its memory, the code refers to no segment, and no two segments
// overlap: then the order does not matter, and the gaps contain the zeros of new memory. Otherwise the segments are not changed.
func (w *writer) joined(segments []segment) []segment {
	sorted := slices.SortedStableFunc(slices.Values(segments), func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	end := int64(0)
	for i := range sorted {
		s := &sorted[i]
		if w.namesData || w.foreignMemory || s.kind != dataActive || !s.isConst || s.offset < end {
			return segments
		}
		end = s.end()
	}
	out := sorted[:0]
	for _, s := range sorted {
		if n := len(out); n > 0 && s.offset-out[n-1].end() <= maxGap {
			last := &out[n-1]
			gap := zeros[:s.offset-last.end()]
			last.content = append(append(last.content, gap...), s.content...)
			continue
		}
		s.content = slices.Clip(s.content) // it is part of the module
		out = append(out, s)
	}
	return out
}

var zeros [maxGap]byte

// segment reads a segment.
func (w *writer) segment(r *reader, s *segment) {
	s.kind = r.u32()
	switch s.kind {
	case dataActive:
	case dataIndexed:
		if index := r.u32(); index != 0 {
			r.fail("memory %d, there is only one", index)
		}
	case dataPassive:
		s.content = r.take(r.u32())
		return
	default:
		r.fail("a data segment of kind %d", s.kind)
		return
	}
	start := r.pos
	s.place = w.constant(nil, r)
	if r.err == nil && r.data[start] == opI32Const {
		number := &reader{data: r.data[start+1 : r.pos]}
		s.offset = int64(uint32(number.s33()))
		s.isConst = number.err == nil && bytes.Equal(number.data[number.pos:], []byte{opEnd})
	}
	s.content = r.take(r.u32())
}

// countedSegments checks the number of segments that the module declares before its code, because that section may be dropped.
func (w *writer) countedSegments(r *reader, n int) {
	if c := w.part[sectionDataCount]; c != nil {
		if announced := (&reader{data: c.data}).u32(); int64(announced) != int64(n) {
			r.fail("%d data segments, %d were declared", n, announced)
		}
	}
}
