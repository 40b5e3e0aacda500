#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Counts instructions with callgrind.
#
# usage: benches/instructions.sh [CASE...]    per encoded and decoded message, ours and the reference's
#        benches/instructions.sh --check      of the message path: those on record hold within two percent
#        benches/instructions.sh --record     puts those of the message path on record, benches/instructions.json
#
# needs valgrind
set -eu
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "instructions.sh: valgrind is not installed" >&2; exit 1; }
case ${1:-} in
--check) exec cargo test --quiet --test instructions ;;
--record) ZONDA_INSTRUCTIONS=record exec cargo test --quiet --test instructions counts_are_those_on_record ;;
esac
# Each program runs at two counts; the difference leaves out its start and end.
cargo build --quiet --profile bench -p zonda-codec --example codec_instructions
target=${CARGO_TARGET_DIR:-target}
program=$target/release/examples/codec_instructions
few=1000
many=3000

count() { # side case direction count -> instructions
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

printf '%-12s %-7s %8s %12s %7s\n' case what ours zenoh-codec ratio
for case in ${*:-push8 push8-block push1k declare request}; do
    for direction in encode decode; do
        ours=$((($(count ours "$case" $direction $many) - $(count ours "$case" $direction $few)) / (many - few)))
        theirs=$((($(count theirs "$case" $direction $many) - $(count theirs "$case" $direction $few)) / (many - few)))
        ratio=$(awk "BEGIN { printf \"%.1f\", $theirs / $ours }")
        printf '%-12s %-7s %8s %12s %7s\n' "$case" $direction "$ours" "$theirs" "$ratio"
    done
done
