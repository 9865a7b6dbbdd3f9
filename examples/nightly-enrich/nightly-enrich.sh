#!/bin/sh
# nightly-enrich.sh: adds countries, cities and flags to yesterday's visits. Days are in UTC.
#
# in   a folder with visits-YYYY-MM-DD.csv, .tsv, .ndjson or .log, also .gz or .zst; further arguments go to
#      `inkling enrich`; DAY=YYYY-MM-DD for another day; MAX_AGE=75d to fail if data is older or missing;
#      INKLING_CONFIG=FILE for the service's settings
# out  enriched/visits-YYYY-MM-DD… in that folder, in the same format, replaced only when it is complete; beside it,
#      its counts in ….json, and its warnings and attributions in ….log; prints nothing unless it fails
# exit the exit code of `inkling enrich`, or 3 if data is too old or missing: not 0 if an output was not written
set -eu

folder=${1:?usage: nightly-enrich.sh FOLDER [OPTION...]}
shift
day=${DAY:-$(date -u -d yesterday +%F 2>/dev/null || date -u -v-1d +%F)} # GNU date, or date of BSD and macOS

[ -z "${MAX_AGE:-}" ] || inkling data status --max-age "$MAX_AGE" >/dev/null

mkdir -p "$folder/enriched"
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
for visits in "$folder/visits-$day".*; do
  out=$folder/enriched/${visits##*/}
  inkling enrich "$visits" --out "$out" --summary --json "$@" >"$run/json" 2>"$run/log" || {
    status=$?
    cat "$run/log" >&2
    exit "$status"
  }
  cp "$run/json" "$out.json"
  cp "$run/log" "$out.log"
done
