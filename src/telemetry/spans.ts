import {
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, type ReadableSpan, type SpanProcessor } from '@opentelemetry/sdk-trace-base'
import { subjectText } from '../cluster/objects.ts'
import type { EndedTimeline, TargetRecord } from '../gate/timeline.ts'
import { fullNames, targetId } from '../plan/target.ts'
import type { ReportRun } from '../report/report-schema.ts'
import { beginOf, beginOfAll, openMilestone, outcomeLabels, stepsOf } from '../report/target-record.ts'
import { spansExportMs } from '../thresholds.ts'
import { version } from '../version.ts'

/** The variables of OpenTelemetry, as https://opentelemetry.io/docs/specs/otel/protocol/exporter describes them. */
type Environment = Readonly<Record<string, string | undefined>>

/**
 * Sends the timeline of a gate as spans by OTLP over HTTP: the gate, its targets and their milestones; the problems of a
 * target are events of its span. The exporter reads its endpoint, headers and timeout from the environment; `TRACEPARENT` is
 * the parent. Spans contain names, reasons, times and the messages of the redacted timeline, and no logs or events of the
 * cluster.
 * @throws an error with the answer of the collector, or why there was none
 */
export async function exportSpans(
  timeline: EndedTimeline,
  env: Environment,
  run: ReportRun | undefined,
): Promise<void> {
  const spans = spansOf(timeline, env, run)
  // The parent was not sampled.
  if (spans.length === 0) return
  const isTimed =
    env['OTEL_EXPORTER_OTLP_TIMEOUT'] !== undefined || env['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT'] !== undefined
  const exporter = new OTLPTraceExporter(isTimed ? {} : { timeoutMillis: spansExportMs })
  try {
    await new Promise<void>((resolve, reject) => {
      exporter.export([...spans], ({ error, code }) => {
        if (code === 0) resolve()
        else reject(error ?? new Error('the collector did not accept the spans'))
      })
    })
  } finally {
    await exporter.shutdown()
  }
}

/** The spans of a gate, each child before its parent; none if the parent was not sampled. */
export function spansOf(
  timeline: EndedTimeline,
  env: Environment,
  run: ReportRun | undefined,
): readonly ReadableSpan[] {
  const ended: ReadableSpan[] = []
  const collector: SpanProcessor = {
    onStart: () => {},
    onEnd: (span) => ended.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  }
  const named = resourceFromAttributes({ 'service.name': 'rollout-gate', 'service.version': version })
  const resource = defaultResource()
    .merge(named)
    .merge(detectResources({ detectors: [envDetector] }))
  const provider = new BasicTracerProvider({ resource, spanProcessors: [collector] })
  writeSpans(timeline, provider.getTracer('rollout-gate', version), parentOf(env['TRACEPARENT']), run)
  return ended
}

/** The context of `TRACEPARENT` (https://www.w3.org/TR/trace-context); that of a new trace if it is invalid. */
function parentOf(traceparent: string | undefined): Context {
  const found = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/.exec(
    traceparent ?? '',
  )
  const [, traceId = '', spanId = '', flags = ''] = found ?? []
  if (found === null) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}

function writeSpans(timeline: EndedTimeline, tracer: Tracer, parent: Context, run: ReportRun | undefined): void {
  const { finishedAt, verdict, context, serverVersion, targets } = timeline
  const names = fullNames(targets.map(({ target }) => target))
  const attributes = {
    'rollout_gate.outcome': verdict.outcome,
    'rollout_gate.reason': verdict.reason,
    'k8s.context': context,
    'k8s.version': serverVersion,
    ...(run && { 'cicd.pipeline.run.id': run.id, 'vcs.ref.head.revision': run.commit }),
  }
  const span = tracer.startSpan('rollout', { startTime: moment(beginOfAll(timeline)), attributes }, parent)
  if (verdict.outcome !== 'ready') span.setStatus({ code: SpanStatusCode.ERROR, message: verdict.message })
  const own = trace.setSpan(parent, span)
  for (const [index, record] of targets.entries())
    writeTarget(record, names[index] ?? '', { timeline, tracer, parent: own })
  span.end(moment(finishedAt))
}

interface Parent {
  readonly timeline: EndedTimeline
  readonly tracer: Tracer
  readonly parent: Context
}

function writeTarget(record: TargetRecord, name: string, { timeline, tracer, parent }: Parent): void {
  const { startedAt, finishedAt } = timeline
  const { target, outcome, reason, message, causedBy, problems } = record
  const cause = causedBy === undefined ? undefined : timeline.targets[causedBy]?.target
  const endedAt = record.endedAt ?? finishedAt
  const attributes = {
    'rollout_gate.target': targetId(target),
    'rollout_gate.outcome': outcome,
    'rollout_gate.reason': reason,
    ...(target.namespace !== undefined && { 'k8s.namespace.name': target.namespace }),
    ...(cause !== undefined && { 'rollout_gate.caused_by': targetId(cause) }),
  }
  const beganAt = beginOf(record, startedAt)
  const span = tracer.startSpan(name, { startTime: moment(beganAt), attributes }, parent)
  for (const problem of problems) {
    const details = {
      'rollout_gate.class': problem.class,
      'rollout_gate.subject': subjectText(problem.subject),
      'rollout_gate.message': problem.message,
      'rollout_gate.count': problem.count,
    }
    // A problem may be older than the gate; an event outside of its span is shown as a wrong clock.
    span.addEvent(problem.reason, details, moment(Math.max(problem.firstSeenAt, beganAt)))
  }
  // A target that only waits for another one has not failed itself.
  if (outcomeLabels[outcome].mark === '✗' && causedBy === undefined)
    span.setStatus({ code: SpanStatusCode.ERROR, message })
  writeMilestones(record, endedAt, { timeline, tracer, parent: trace.setSpan(parent, span) })
  span.end(moment(endedAt))
}

/** A span for each reached milestone, from the milestone before, and a span for the milestone that was not reached. */
function writeMilestones(record: TargetRecord, endedAt: number, { timeline, tracer, parent }: Parent): void {
  let from = beginOf(record, timeline.startedAt)
  const write = (name: string, to: number): Span => {
    const span = tracer.startSpan(name, { startTime: moment(from) }, parent)
    from = Math.max(from, to)
    return span
  }
  for (const { name, at } of stepsOf(record, timeline.startedAt)) write(name, at).end(moment(from))
  const open = record.outcome === 'ready' ? undefined : openMilestone(record)
  if (open === undefined) return
  const span = write(open.name, endedAt)
  span.setAttribute('rollout_gate.reached', false)
  if (open.state === 'failed' && record.causedBy === undefined)
    span.setStatus({ code: SpanStatusCode.ERROR, message: open.message })
  span.end(moment(from))
}

/** A number would be read as a moment of this process's own clock. */
function moment(ms: number): Date {
  return new Date(ms)
}
