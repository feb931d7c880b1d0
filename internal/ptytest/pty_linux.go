package ptytest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"
)

// Open returns the two ends of a new pseudo terminal of this size: control is for reading the output of a program and writing its input;
// side is the program's terminal. The caller closes both.
func Open(rows, columns int) (control, side *os.File, err error) {
	if control, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	fd := int(control.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = Resize(control, rows, columns)
	}
	if err == nil {
		side, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, control.Close())
	}
	return control, side, nil
}

// Resize changes the size of a terminal.
func Resize(control *os.File, rows, columns int) error {
	return unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
}

// Screen returns the lines of an emulator's screen, without the spaces at their ends.
func Screen(e *vt.Emulator) string {
	var b strings.Builder
	for y := range e.Height() {
		var line strings.Builder
		for column := 0; column < e.Width(); {
			c := e.CellAt(column, y)
			if c == nil || c.Content == "" {
				line.WriteByte(' ')
				column++
				continue
			}
			line.WriteString(c.Content)
			column += max(1, c.Width)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
