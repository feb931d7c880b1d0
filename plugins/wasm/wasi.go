package wasm

import (
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/tenonhq/tenon/plugins/wasm/internal/rewrite"
)

// wasiSignatures lists the functions of WASI that a guest can import, with their parameters: i is an i32, I an i64; bounded i32 are n (a number
// of elements), p (the length of a path) and d (the size of a buffer for directory entries). All return an i32, the error number, except for
// proc_exit.
// See https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
const wasiSignatures = `
	args_get ii  args_sizes_get ii  clock_res_get ii  clock_time_get iIi  environ_get ii  environ_sizes_get ii
	fd_advise iIIi  fd_allocate iII  fd_close i  fd_datasync i  fd_fdstat_get ii  fd_fdstat_set_flags ii
	fd_fdstat_set_rights iII  fd_filestat_get ii  fd_filestat_set_size iI  fd_filestat_set_times iIIi
	fd_pread iinIi  fd_prestat_dir_name iii  fd_prestat_get ii  fd_pwrite iinIi  fd_read iini  fd_readdir iidIi
	fd_renumber ii  fd_seek iIii  fd_sync i  fd_tell ii  fd_write iini  path_create_directory iip
	path_filestat_get iiipi  path_filestat_set_times iiipIIi  path_link iiipiip  path_open iiipiIIii
	path_readlink iipiii  path_remove_directory iip  path_rename iipiip  path_symlink ipiip  path_unlink_file iip
	poll_oneoff iini  proc_exit i  proc_raise i  random_get ii  sched_yield -  sock_accept iii  sock_recv iiniii
	sock_send iinii  sock_shutdown ii`

// Limits of the work of one WASI call. The deadline is checked between calls.
const (
	maxElements  = 1024     // buffers to read or write, as IOV_MAX of POSIX; subscriptions of poll_oneoff
	maxPath      = 4096     // bytes, as PATH_MAX
	maxDirectory = 64 << 10 // bytes of entries of a directory
)

// Error numbers of WASI.
const (
	wasiInvalid     = 28
	wasiNameTooLong = 37
)

// wasiFunctions returns the functions of WASI that a guest can import, by name.
func wasiFunctions() map[string]hostFunction {
	fields := strings.Fields(wasiSignatures)
	out := make(map[string]hostFunction, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		f := hostFunction{results: []byte{api.ValueTypeI32}}
		for n, letter := range strings.Trim(fields[i+1], "-") {
			t := byte(api.ValueTypeI32)
			switch letter {
			case 'I':
				t = api.ValueTypeI64
			case 'n':
				f.limits = append(f.limits, rewrite.Limit{Param: n, Max: maxElements, Result: wasiInvalid})
			case 'p':
				f.limits = append(f.limits, rewrite.Limit{Param: n, Max: maxPath, Result: wasiNameTooLong})
			case 'd':
				f.limits = append(f.limits, rewrite.Limit{Param: n, Max: maxDirectory, Result: wasiInvalid})
			}
			f.params = append(f.params, t)
		}
		if fields[i] == "proc_exit" {
			f.results = nil
		}
		out[fields[i]] = f
	}
	return out
}
