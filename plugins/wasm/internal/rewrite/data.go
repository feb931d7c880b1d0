package rewrite

import "bytes"

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
	joined  bool // appended to the segment before it, after gap zeros
	gap     int
	size    int // of the content, including joined segments
}

// end returns the end of the segment in memory, including joined segments.
func (s *segment) end() int64 { return s.offset + int64(s.size) }

// dataSection writes the data segments. Go's linker makes tens of thousands, each of which costs memory in every instance, so neighbors are
// joined, with zeros in the gap. That is equivalent if the memory is the module's own, the code refers to no segment, and each segment begins
// at or after the end of all earlier ones: then the gap still contains the zeros of new memory. The first segment that violates this ends the
// joining.
func (w *writer) dataSection(r *reader) {
	n := r.count("data segments", maxSegments)
	w.countedSegments(r, n)
	segments := make([]segment, n)
	count, head := 0, &segment{kind: dataPassive}
	rising, end := !w.namesData && !w.foreignMemory, int64(0)
	for i := range segments {
		s := &segments[i]
		w.segment(r, s)
		if r.err != nil {
			return
		}
		if s.kind != dataPassive {
			rising = rising && s.isConst && s.offset >= end
			end = s.end()
		}
		if rising && head.takes(s) {
			s.joined, s.gap = true, int(s.offset-head.end())
			head.size += s.gap + s.size
			continue
		}
		count, head = count+1, s
	}
	w.buf = appendU32(w.buf, uint32(count))
	for i := range segments {
		s := &segments[i]
		if s.joined {
			w.buf = append(append(w.buf, zeros[:s.gap]...), s.content...)
			continue
		}
		w.buf = appendU32(w.buf, s.kind)
		if s.kind == dataIndexed {
			w.buf = append(w.buf, 0)
		}
		w.buf = append(w.buf, s.place...)
		w.buf = appendU32(w.buf, uint32(s.size))
		w.buf = append(w.buf, s.content...)
	}
}

var zeros [maxGap]byte

// takes reports whether next, which begins after s, is near enough to be joined to it.
func (s *segment) takes(next *segment) bool {
	return s.kind == dataActive && next.kind == dataActive && next.size > 0 && next.offset-s.end() <= maxGap
}

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
		s.size = len(s.content)
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
	s.size = len(s.content)
}

// countedSegments checks the number of segments that the module declares before its code, because that section may be dropped.
func (w *writer) countedSegments(r *reader, n int) {
	if c := w.part[sectionDataCount]; c != nil {
		if announced := (&reader{data: c.data}).u32(); int64(announced) != int64(n) {
			r.fail("%d data segments, %d were announced", n, announced)
		}
	}
}
