#!/usr/bin/env bash
# A span of OpenTelemetry for each resource, to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names. Needs otel-cli.
set -euo pipefail
jq -r '
  .finishedAt as $finished | .targets[] | select(any(.milestones[]; .at)) |
  [.target, ([.milestones[].at // empty] | min), (if .outcome == "ready" then [.milestones[].at // empty] | max else $finished end),
    .outcome] | @tsv
' "$REPORT" | while IFS=$'\t' read -r target start end outcome; do
  status=$([ "$outcome" = ready ] && echo ok || echo error)
  otel-cli span --service rollout-gate --name "$target" --start "$start" --end "$end" \
    --status-code "$status" --attrs "outcome=$outcome"
done
