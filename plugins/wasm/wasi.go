package wasm

import "strings"

// wasiFunctions returns the names of what a guest can import from WASI.
// See https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
func wasiFunctions() map[string]struct{} {
	names := strings.Fields(`
		args_get args_sizes_get clock_res_get clock_time_get environ_get environ_sizes_get fd_advise fd_allocate fd_close fd_datasync
		fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights fd_filestat_get fd_filestat_set_size fd_filestat_set_times fd_pread
		fd_prestat_dir_name fd_prestat_get fd_pwrite fd_read fd_readdir fd_renumber fd_seek fd_sync fd_tell fd_write
		path_create_directory path_filestat_get path_filestat_set_times path_link path_open path_readlink path_remove_directory
		path_rename path_symlink path_unlink_file poll_oneoff proc_exit proc_raise random_get sched_yield sock_accept sock_recv
		sock_send sock_shutdown`)
	set := make(map[string]struct{}, len(names))
	for _, name := range names {
		set[name] = struct{}{}
	}
	return set
}
