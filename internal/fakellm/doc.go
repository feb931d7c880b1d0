// Package fakellm is a scripted model server for tests and benchmarks. It speaks OpenAI Chat Completions over real
// HTTP on loopback, and reproduces the faults of real servers: refusals, stalls, cut connections, garbage.
//
//	srv := fakellm.New(t,
//		fakellm.Call("read", `{"filePath":"go.mod"}`),
//		fakellm.Text("It is a Go module."),
//	)
//	// point a provider at srv.URL(), run a turn, look at srv.Requests()
//
// A reply is consumed by each request, in order. Requests that match a route (see Route) and requests
// for a session's title do not touch the script. For another protocol, write its bytes with Raw.
package fakellm
