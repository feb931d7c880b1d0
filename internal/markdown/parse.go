package markdown

import (
	"bytes"
	"slices"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// blockParser returns the parser of blocks, created at the first call. Definitions of references stay text, because links may precede them in a
// stream; so does HTML. goldmark's own extensions for tables and strike-through would cost 1 ms at every start.
var blockParser = sync.OnceValue(func() parser.Parser {
	blocks := slices.DeleteFunc(parser.DefaultBlockParsers(), func(v util.PrioritizedValue) bool { return v.Value == parser.NewHTMLBlockParser() })
	for i, v := range blocks {
		if v.Value == parser.NewBlockquoteParser() || v.Value == parser.NewListParser() {
			blocks[i].Value = shallow{v.Value.(parser.BlockParser)}
		}
	}
	const after = 500 // the priority of the parsers of code spans and links
	return parser.NewParser(
		parser.WithBlockParsers(blocks...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strikeParser{}, after))...),
		parser.WithParagraphTransformers(util.Prioritized(tableTransformer{}, after)),
	)
})

// maxDepth is the number of blocks around a quote or a list from which its markers are text: goldmark takes time for each of them at each line. A list
// and its item are two blocks, so that 10 lists fit.
const maxDepth = 20

// shallow opens a block only if few blocks are around it.
type shallow struct{ parser.BlockParser }

func (p shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n.Parent() != nil; n = n.Parent() {
		depth++
	}
	// The parser of an open list must see each of its items, or it takes the next list for one.
	if depth >= maxDepth && parent.Kind() != ast.KindList {
		return nil, parser.NoChildren
	}
	return p.BlockParser.Open(parent, reader, pc)
}

// strike is struck text.
type strike struct{ ast.Emphasis }

// strikeParser parses ~struck~ and ~~struck~~ text.
type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (strikeParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	node := parser.ScanDelimiter(line, before, 1, strikeParser{})
	if node.OriginalLength > 2 || before == '~' {
		return nil
	}
	node.Segment = segment.WithStop(segment.Start + node.OriginalLength)
	block.Advance(node.OriginalLength)
	pc.PushDelimiter(node)
	return node
}

func (strikeParser) IsDelimiter(b byte) bool { return b == '~' }

func (strikeParser) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.OriginalLength == closer.OriginalLength
}

func (strikeParser) OnMatch(int) ast.Node { return &strike{} }

// table is a table. Its children are the cells, row by row.
type table struct {
	ast.BaseBlock
	columns []alignment
}

// alignment is the share of a cell's padding on its left, in halves: 0 for columns on the left, 1 for centered ones, 2 for those on the right.
type alignment int

var kindTable = ast.NewNodeKind("Table")

func (*table) Kind() ast.NodeKind { return kindTable }

// Dump prints the node for debugging.
func (n *table) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// plain is a paragraph that is too long to parse, and is shown unrendered.
type plain struct{ ast.Paragraph }

// IsRaw reports that the text has no inline nodes.
func (*plain) IsRaw() bool { return true }

// maxNames limits tables that are shown with the names of the columns in each row: all names together may be this many
// times longer than the table.
const maxNames = 32

// tableTransformer finds the tables in paragraphs. Long paragraphs become plain.
type tableTransformer struct{}

func (tableTransformer) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	source, lines := reader.Source(), node.Lines()
	for i := 1; i < lines.Len(); i++ {
		delimiters, head := lines.At(i), lines.At(i-1)
		columns := delimited(delimiters.Value(source))
		if columns == nil || len(cells(head, source)) != len(columns) {
			continue
		}
		// A table with more cells than bytes, or with rows that are far shorter than the names before each of their cells, would fill the memory.
		rows, size := lines.Len()-i, lines.At(lines.Len()-1).Stop-head.Start
		if rows*len(columns) > size || rows*head.Len() > maxNames*size {
			break
		}
		t := &table{columns: columns}
		t.SetPos(head.Start)
		t.add(head, source)
		for j := i + 1; j < lines.Len(); j++ {
			t.add(lines.At(j), source)
		}
		node.Parent().InsertAfter(node.Parent(), node, t)
		lines.SetSliced(0, i-1)
		if lines.Len() == 0 {
			node.Parent().RemoveChild(node.Parent(), node)
		}
		return
	}
	const longest = 2 * maxText // of a paragraph that is not in a list item
	if n := lines.Len(); n > 0 && lines.At(n-1).Stop-lines.At(0).Start > longest {
		p := &plain{}
		p.SetLines(lines)
		node.Parent().ReplaceChild(node.Parent(), node, p)
	}
}

// add adds a row. Missing cells are empty, and surplus cells are dropped.
func (t *table) add(line text.Segment, source []byte) {
	row := cells(line, source)
	for i := range t.columns {
		cell := ast.NewTextBlock()
		if i < len(row) && !row[i].IsEmpty() {
			cell.Lines().Append(row[i])
		}
		t.AppendChild(t, cell)
	}
}

// cells splits a row at the bars that no backslash precedes.
func cells(line text.Segment, source []byte) []text.Segment {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	value := line.Value(source)
	start, end := 0, len(value)
	if end > 0 && value[0] == '|' {
		start = 1
	}
	if end > start && value[end-1] == '|' && value[max(end-2, 0)] != '\\' {
		end--
	}
	var out []text.Segment
	for i := start; i <= end; i++ {
		if i < end && (value[i] != '|' || i > 0 && value[i-1] == '\\') {
			continue
		}
		cell := text.NewSegment(line.Start+start, line.Start+i)
		cell = cell.TrimLeftSpace(source)
		out = append(out, cell.TrimRightSpace(source))
		start = i + 1
	}
	return out
}

// delimited returns the columns that the line below the head of a table delimits, such as |:--|--:|; nil for other lines.
func delimited(line []byte) []alignment {
	line = bytes.TrimSpace(line)
	if !bytes.ContainsAny(line, "|") && !bytes.HasPrefix(line, []byte(":")) && !bytes.HasSuffix(line, []byte(":")) {
		return nil // a heading's underline
	}
	var columns []alignment
	for cell := range bytes.SplitSeq(bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("|")), []byte("|")), []byte("|")) {
		cell, left := bytes.CutPrefix(bytes.TrimSpace(cell), []byte(":"))
		dashes, right := bytes.CutSuffix(cell, []byte(":"))
		if len(dashes) == 0 || len(bytes.Trim(dashes, "-")) > 0 {
			return nil
		}
		var align alignment
		if right {
			align = 2
			if left {
				align = 1
			}
		}
		columns = append(columns, align)
	}
	return columns
}
