#!/bin/sh
# Builds guest.wasm. RUSTC may name another compiler than rustc; it needs the target wasm32-unknown-unknown.
set -e
cd "$(dirname "$0")"
"${RUSTC:-rustc}" --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C lto -C panic=abort -C strip=symbols \
	-C link-arg=-zstack-size=32768 -o guest.wasm guest.rs
