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
// neighbours are joined: the gap between them is filled with zeros. That changes nothing as long as the memory is the module's own,
// the code names no segment, and each segment so far begins at or behind the end of all earlier ones: then the gap still holds the
// zeros a new memory has. The first segment that breaks this ends joining.
func (w *writer) dataSection(r *reader) {
	n := r.count("data segments", maxSegments)
	w.countedSegments(r, n)
	var joined []segment
	rising, end := !w.namesData && !w.foreignMemory, int64(0)
	for range n {
		s := w.segment(r)
		if r.err != nil {
			return
		}
		if s.kind != dataPassive {
			rising = rising && s.isConst && s.offset >= end
			end = s.offset + int64(len(s.content))
		}
		if last := len(joined) - 1; last < 0 || !rising || !joined[last].join(&s) {
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
		if index := r.u32(); index != 0 {
			r.fail("memory %d, there is only one", index)
		}
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

// countedSegments checks the number of segments that the module announces before its code, since that section may be left out.
func (w *writer) countedSegments(r *reader, n int) {
	if c := w.part[sectionDataCount]; c != nil {
		if announced := (&reader{data: c.data}).u32(); int64(announced) != int64(n) {
			r.fail("%d data segments, %d were announced", n, announced)
		}
	}
}

// join puts next behind s, if it stands a little behind it in memory. dataSection makes sure that joining is possible at all.
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
