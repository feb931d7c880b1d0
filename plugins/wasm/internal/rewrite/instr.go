package rewrite

// Instructions that the rewriter checks or writes.
const (
	opUnreachable        = 0x00
	opBlock              = 0x02
	opLoop               = 0x03
	opIf                 = 0x04
	opElse               = 0x05
	opEnd                = 0x0b
	opBr                 = 0x0c
	opBrIf               = 0x0d
	opBrTable            = 0x0e
	opReturn             = 0x0f
	opCall               = 0x10
	opCallIndirect       = 0x11
	opReturnCall         = 0x12
	opReturnCallIndirect = 0x13
	opSelect             = 0x1b
	opSelectTyped        = 0x1c
	opLocalGet           = 0x20
	opLocalSet           = 0x21
	opGlobalGet          = 0x23
	opGlobalSet          = 0x24
	opTableSet           = 0x26
	opLoadFirst          = 0x28
	opStoreLast          = 0x3e
	opMemorySize         = 0x3f
	opMemoryGrow         = 0x40
	opI32Const           = 0x41
	opI64Const           = 0x42
	opF32Const           = 0x43
	opF64Const           = 0x44
	opI32Eqz             = 0x45
	opI32LtS             = 0x48
	opI32LtU             = 0x49
	opI32GtU             = 0x4b
	opI32LeU             = 0x4d
	opI32Add             = 0x6a
	opI32Sub             = 0x6b
	opI32Mul             = 0x6c
	opI32Or              = 0x72
	opI32ShrU            = 0x76
	opI64Add             = 0x7c
	opI64Sub             = 0x7d
	opI64Mul             = 0x7e
	opLastNumeric        = 0xc4 // the last of the sign extensions
	opRefNull            = 0xd0
	opRefIsNull          = 0xd1
	opRefFunc            = 0xd2
	opMisc               = 0xfc
	opVector             = 0xfd

	blockEmpty = 0x40
)

// Instructions after opMisc.
const (
	miscLastTruncate = 7
	miscMemoryInit   = 8
	miscDataDrop     = 9
	miscMemoryCopy   = 10
	miscMemoryFill   = 11
	miscTableInit    = 12
	miscElemDrop     = 13
	miscTableCopy    = 14
	miscTableGrow    = 15
	miscTableSize    = 16
	miscTableFill    = 17
)

// Instructions after opVector.
const (
	vectorStore     = 11 // the last with only a memory argument, of those that begin with 0
	vectorConst     = 12
	vectorShuffle   = 13
	vectorLaneFirst = 21 // extract_lane and replace_lane
	vectorLaneLast  = 34
	vectorLoadLane  = 84 // load and store of one lane
	vectorStoreLane = 91
	vectorZeroFirst = 92 // load32_zero, load64_zero
	vectorZeroLast  = 93
	vectorLast      = 255
)

// memoryArgument skips alignment and offset.
func (r *reader) memoryArgument() {
	if align := r.u32(); align >= 32 {
		r.fail("alignment 2^%d", align)
	}
	r.u32()
}

// vector skips the immediates of a vector instruction and returns its number.
func (r *reader) vector() uint32 {
	start := r.pos
	sub := r.u32()
	switch {
	case r.pos-start > 1 && sub < 0x80 || r.pos-start > 2:
		// wazero reads only the first byte as the number.
		r.fail("the number of a vector instruction is longer than it needs to be")
	case sub > vectorLast:
		r.fail("vector instruction %#x is not supported", sub)
	case sub <= vectorStore, sub == vectorZeroFirst, sub == vectorZeroLast:
		r.memoryArgument()
	case sub == vectorConst, sub == vectorShuffle:
		r.take(16)
	case sub >= vectorLaneFirst && sub <= vectorLaneLast:
		r.byte()
	case sub >= vectorLoadLane && sub <= vectorStoreLane:
		r.memoryArgument()
		r.byte()
	}
	return sub
}

// plain reports whether op is an instruction that is copied unchanged, and skips its immediates. globals is the number of globals of the
// module.
func (r *reader) plain(op byte, globals uint32) bool {
	switch {
	case op <= 0x01, op == opReturn, op == 0x1a, op == opSelect, op == opRefIsNull, op >= opI32Eqz && op <= opLastNumeric:
	case op == opBr, op == opBrIf, op >= opLocalGet && op <= opTableSet:
		if index := r.u32(); index >= globals && (op == opGlobalGet || op == opGlobalSet) {
			r.noGlobal(index, globals)
		}
	case op >= opLoadFirst && op <= opStoreLast:
		r.memoryArgument()
	case op == opMemorySize:
		r.zero()
	case op == opI32Const:
		r.skipNumber(5)
	case op == opI64Const:
		r.skipNumber(10)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op == opRefNull:
		r.refType()
	case op == opSelectTyped:
		if n := r.u32(); n != 1 {
			r.fail("select with %d types", n)
		}
		r.valueType()
	default:
		return false
	}
	return true
}

// zero reads the index of the one memory.
func (r *reader) zero() {
	if b := r.byte(); b != 0 {
		r.fail("memory %d, there is only one", b)
	}
}
