#!/bin/sh
# Builds guest.wasm with the compiler of package.json.
set -e
cd "$(dirname "$0")"
[ -d node_modules ] || npm ci
npx asc guest.ts --outFile guest.wasm --optimize --runtime incremental --use abort=guest/stop
