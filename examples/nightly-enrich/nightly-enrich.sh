#!/bin/sh
# nightly-enrich.sh: adds countries, cities and flags to yesterday's visits.
#
# in   a folder with visits-YYYY-MM-DD.csv, .tsv, .ndjson or .log, also .gz or .zst; further arguments go to
#      `inkling enrich`; DAY=YYYY-MM-DD for another day; MAX_AGE=75d to fail if data is older or missing;
#      INKLING_CONFIG=FILE for the service's settings
# out  enriched/visits-YYYY-MM-DD… in that folder, in the same format, replaced only when it is complete; prints
#      nothing unless it fails
# exit the exit code of `inkling enrich`, or 3 if data is too old or missing: not 0 if an output was not written
set -eu

folder=${1:?usage: nightly-enrich.sh FOLDER [OPTION...]}
shift
day=${DAY:-$(date -d yesterday +%F 2>/dev/null || date -v-1d +%F)} # GNU date, or date of BSD and macOS

[ -z "${MAX_AGE:-}" ] || inkling data status --max-age "$MAX_AGE" >/dev/null

mkdir -p "$folder/enriched"
for visits in "$folder/visits-$day".*; do
  log=$(inkling enrich "$visits" --out "$folder/enriched/${visits##*/}" "$@" 2>&1) || {
    status=$?
    printf '%s\n' "$log" >&2
    exit "$status"
  }
done
