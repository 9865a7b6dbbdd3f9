#!/bin/sh
# nightly-enrich.sh: adds countries, cities and flags to yesterday's visits.
#
# in   a folder with visits-YYYY-MM-DD.csv; more arguments go to `inkling enrich`; DAY=YYYY-MM-DD for another day
# out  yesterday.csv in that folder, replaced only when it is complete; prints nothing unless it fails
# exit that of `inkling enrich`: not 0 when yesterday.csv was not replaced
set -eu

folder=${1:?usage: nightly-enrich.sh FOLDER [OPTION...]}
shift
day=${DAY:-$(date -d yesterday +%F 2>/dev/null || date -v-1d +%F)} # GNU, or BSD and macOS

log=$(inkling enrich "$folder/visits-$day.csv" --out "$folder/yesterday.csv" "$@" 2>&1) || {
  status=$?
  printf '%s\n' "$log" >&2
  exit "$status"
}
