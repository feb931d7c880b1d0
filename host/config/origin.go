package config

import "strconv"

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
