package rewrite

import "strings"

// Instructions that the rewriter treats individually, or writes.
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0b
	opGlobalGet   = 0x23
	opI32Const    = 0x41
	opRefFunc     = 0xd2
	opCall        = 0x10
	opMisc        = 0xfc
	opVector      = 0xfd

	miscMemoryInit = 8 // after opMisc
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11

	vectorConst = 12 // after opVector

	blockEmpty = 0x40
)

// constantOps are the instructions of constant expressions that are copied unchanged: constants, ref.null, and add, sub and mul of integers.
const constantOps = "\x41\x42\x43\x44\xd0\x6a\x6b\x6c\x7c\x7d\x7e"

// form describes the encoding of an instruction. Each letter of immediates stands for one immediate, see skip.
type form struct {
	immediates string
	units      int // in addition to the units for its bytes
	known      bool
	plain      bool // it is copied unchanged
}

// row is a form of instructions with consecutive numbers.
type row struct {
	first, last byte
	immediates  string
	units       int
}

// forms returns the forms by the numbers of the instructions.
func forms(rows ...row) (out [256]form) {
	for _, row := range rows {
		for op := int(row.first); op <= int(row.last); op++ {
			out[op] = form{row.immediates, row.units, true, row.units == 0 && !strings.Contains(row.immediates, "f")}
		}
	}
	return out
}

// opForms are the instructions that are not blocks, see https://webassembly.github.io/spec/core/binary/instructions.html.
var opForms = forms(
	row{0x00, 0x01, "", 0},          // unreachable, nop
	row{0x0c, 0x0d, "x", 0},         // br, br_if
	row{0x0e, 0x0e, "T", 0},         // br_table
	row{0x0f, 0x0f, "", 0},          // return
	row{0x10, 0x10, "f", 1},         // call
	row{0x11, 0x11, "tx", 1},        // call_indirect
	row{0x12, 0x12, "f", 1},         // return_call
	row{0x13, 0x13, "tx", 1},        // return_call_indirect
	row{0x1a, 0x1b, "", 0},          // drop, select
	row{0x1c, 0x1c, "s", 0},         // select with a type
	row{0x20, 0x22, "x", 0},         // of locals
	row{0x23, 0x24, "g", 0},         // of globals
	row{0x25, 0x26, "x", 0},         // table.get, table.set
	row{0x28, 0x3e, "m", 0},         // loads and stores
	row{0x3f, 0x3f, "0", 0},         // memory.size
	row{0x40, 0x40, "0", slowUnits}, // memory.grow
	row{0x41, 0x41, "i", 0},         // i32.const
	row{0x42, 0x42, "l", 0},         // i64.const
	row{0x43, 0x43, "4", 0},         // f32.const
	row{0x44, 0x44, "8", 0},         // f64.const
	row{0x45, 0xc4, "", 0},          // of numbers, up to the sign extensions
	row{0xd0, 0xd0, "r", 0},         // ref.null
	row{0xd1, 0xd1, "", 0},          // ref.is_null
	row{0xd2, 0xd2, "f", 0},         // ref.func
)

// miscForms are the instructions after opMisc, without memory.copy and memory.fill.
var miscForms = forms(
	row{0, 7, "", 0},             // truncations
	row{8, 8, "x0", slowUnits},   // memory.init
	row{9, 9, "x", 0},            // data.drop
	row{12, 12, "xx", slowUnits}, // table.init
	row{13, 13, "x", 0},          // elem.drop
	row{14, 14, "xx", slowUnits}, // table.copy
	row{15, 15, "x", slowUnits},  // table.grow
	row{16, 16, "x", 0},          // table.size
	row{17, 17, "x", slowUnits},  // table.fill
)

// vectorForms are the instructions after opVector.
var vectorForms = forms(
	row{0, 255, "", 0},  // the others
	row{0, 11, "m", 0},  // loads and stores
	row{12, 13, "v", 0}, // v128.const, i8x16.shuffle
	row{21, 34, "b", 0}, // of one lane
	row{84, 91, "mb", 0},
	row{92, 93, "m", 0}, // v128.load32_zero, v128.load64_zero
)

// skip reads immediates and checks those that could refer to an addition of the rewriter.
func (w *writer) skip(r *reader, immediates string) {
	for _, kind := range []byte(immediates) {
		switch kind {
		case 'x': // the index of a label, local, table or segment
			r.u32()
		case 'g':
			w.globalIndex(r)
		case 't':
			w.typeIndex(r)
		case '0': // the index of the one memory
			if b := r.byte(); b != 0 {
				r.fail("memory %d, there is only one", b)
			}
		case 'm': // alignment and offset
			if align := r.u32(); align >= 32 {
				r.fail("alignment 2^%d", align)
			}
			r.u32()
		case 'i':
			r.skipNumber(5)
		case 'l':
			r.skipNumber(10)
		case '4':
			r.take(4)
		case '8':
			r.take(8)
		case 'v':
			r.take(16)
		case 'b': // a lane
			r.byte()
		case 'r':
			r.refType()
		case 's': // the types of select
			if n := r.u32(); n != 1 {
				r.fail("select with %d types", n)
			}
			r.valueType()
		case 'T': // the targets of br_table
			for range r.count("targets", maxTargets) + 1 {
				r.u32()
			}
		}
	}
}
