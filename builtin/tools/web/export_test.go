package web

// Render converts HTML; see render.
var Render = render
