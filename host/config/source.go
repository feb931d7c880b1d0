package config

import (
	"fmt"
	"strconv"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/internal/projectfs"
)

// source is one text of configuration. Its name is a path relative to the working directory, "X" or "flag X".
type source struct {
	checked.Source
	layer  Layer
	origin string // for Origin: an absolute path, "env X" or "flag X"
	dir    string // directory of relative paths
	root   *checked.Node
}

// parse sets root. It returns false after it reported an error.
func (s *source) parse(text []byte, r *checked.Report) bool {
	s.Comments = true
	s.root = s.Parse(text, r)
	return s.root != nil
}

func (s *source) originAt(offset int) Origin {
	line, column := s.Position(offset)
	return Origin{Layer: s.layer, Source: s.origin, Line: line, Column: column}
}

// readFile reads a regular file of at most checked.MaxBytes; others, such as pipes, could block or never end. A file of the project must be
// inside the project after links are resolved.
func (l *loader) readFile(layer Layer, path string) ([]byte, error) {
	if text, ok := l.opts.Pending[path]; ok {
		return text, nil
	}
	open := projectfs.OpenRegular
	if layer == LayerProject {
		open = l.inside.Open
	}
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	text, cut, err := projectfs.ReadLimited(f, checked.MaxBytes)
	if err == nil && cut {
		err = fmt.Errorf("%d bytes, more than %d", info.Size(), checked.MaxBytes)
	}
	return text, err
}

// Layer names one layer of the configuration.
type Layer string

// The layers, lowest first.
const (
	LayerDefault     Layer = "default"
	LayerUser        Layer = "user"        // the user's configuration directory
	LayerProject     Layer = "project"     // files of the repository
	LayerFile        Layer = "file"        // the file in $TENON_CONFIG
	LayerInline      Layer = "inline"      // $TENON_CONFIG_CONTENT
	LayerEnvironment Layer = "environment" // one variable, one value
	LayerManaged     Layer = "managed"     // an administrator's file
)

// Origin is the place that set a value.
type Origin struct {
	Layer  Layer
	Source string // an absolute path, "env TENON_MODEL" or "default"
	Line   int    // from 1; 0 when the source has no lines
	Column int    // from 1, in characters; 0 when the source has no lines
}

// String returns "/home/a/tenon.json:12", "env TENON_MODEL" or "default".
func (o Origin) String() string {
	if o.Line == 0 || o.Layer == LayerEnvironment {
		return o.Source
	}
	return o.Source + ":" + strconv.Itoa(o.Line)
}
