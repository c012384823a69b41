#!/usr/bin/env bash
# A table of earlier runs: a line for each report in the folder $REPORTS.
set -euo pipefail
jq -r '[.startedAt, .outcome, .reason, "\(.durationSeconds) s"] | join("  ")' "${REPORTS:-.}"/*.json | sort
