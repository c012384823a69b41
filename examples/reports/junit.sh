#!/usr/bin/env bash
# A JUnit report: a test case for each resource. One that only waits for another resource is skipped.
set -euo pipefail
jq -r '
  def is_failure: .outcome != "ready" and .outcome != "progressing" and .causedBy == null;
  "<testsuite name=\"rollout\" tests=\"\(.targets | length)\" failures=\"\([.targets[] | select(is_failure)] | length)\">",
  (.targets[] |
    "<testcase classname=\"\(.namespace // "cluster" | @html)\" name=\"\(.target | @html)\">",
    if is_failure then "<failure type=\"\(.reason | @html)\" message=\"\(.message | @html)\">\(.hint // "" | @html)</failure>"
    elif .outcome != "ready" then "<skipped/>"
    else empty end,
    "</testcase>"),
  "</testsuite>"
' "$REPORT" >rollout.xml
