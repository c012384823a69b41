import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorText } from './errors.ts'
import type { EndedTimeline } from './gate/timeline.ts'
import type { Inputs } from './inputs.ts'
import type { ComparedTarget } from './report/comparison.ts'
import type { ReportRun } from './report/report-schema.ts'

/** What an export needs besides the timeline of the gate. */
interface ExportContext {
  /** The workflow run of the gate, if there is one. */
  readonly run: ReportRun | undefined
  /** Gets what could not be read or written, as raw text: that decides nothing. */
  readonly onWarning: (text: string) => void
}

/**
 * Compares a gate with the earlier ones of the input `history`, and adds it to them. Their modules are loaded only if the
 * input is set. Never rejects.
 * @returns the targets with milestones to compare; empty without a history
 */
export async function compareWithHistory(
  timeline: EndedTimeline,
  { history: path }: Pick<Inputs, 'history'>,
  { run, onWarning }: ExportContext,
): Promise<readonly ComparedTarget[]> {
  if (path === undefined) return []
  try {
    const { appendGate, describeSkipped, readHistory } = await import('./history/history-file.ts')
    const { compareGate, gateOf } = await import('./history/gates.ts')
    const { gates, skipped } = readHistory(path)
    if (skipped.length > 0) onWarning(`history: ${path}: ${describeSkipped(skipped)}`)
    const gate = gateOf(timeline, run)
    if (gate !== undefined) appendGate(path, gate)
    return compareGate(timeline, gates)
  } catch (error) {
    onWarning(`history: ${path} could not be read or written: ${errorText(error)}`)
    return []
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** The variables that name a collector: https://opentelemetry.io/docs/specs/otel/protocol/exporter */
const endpointNames = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']

/** The collectors of OpenTelemetry that the environment names for spans, each with its variable. */
export function collectorsIn(env: Environment): readonly { readonly name: string; readonly url: string }[] {
  if (env['OTEL_SDK_DISABLED'] === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return []
  return endpointNames.flatMap((name) => (env[name] ? [{ name, url: env[name] }] : []))
}

/**
 * Sends the timeline as spans if the environment names a collector of OpenTelemetry. Its modules are loaded only then. Never
 * rejects.
 * @param timeline redacted
 */
export async function exportToCollector(
  timeline: EndedTimeline,
  env: Environment,
  { run, onWarning }: ExportContext,
): Promise<void> {
  const [collector, ...others] = collectorsIn(env)
  if (collector === undefined) return
  // The exporter would use its default instead.
  const invalid = [collector, ...others].find(({ url }) => !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
  if (invalid !== undefined) {
    onWarning(`${invalid.name} is no URL like http://127.0.0.1:4318, so no spans were sent.`)
    return
  }
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL']
  if (protocol === 'grpc') {
    onWarning(
      `No spans were sent: the gate sends them by HTTP, and the protocol of ${collector.name} is grpc. Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, and name the port of the collector for HTTP (usually 4318).`,
    )
    return
  }
  try {
    const { exportSpans } = await import('./telemetry/spans.ts')
    await exportSpans(timeline, env, run)
  } catch (error) {
    const isOfGrpc = [collector, ...others].some(({ url }) => URL.parse(url)?.port === '4317')
    const hint = isOfGrpc ? '. They are sent by HTTP, usually to port 4318; 4317 is usually that of gRPC.' : ''
    onWarning(`The spans could not be sent to the collector of ${collector.name}: ${errorText(error)}${hint}`)
  }
}

/**
 * Writes the JUnit report of the input `junit`. Its module is loaded only if the input is set. Never rejects.
 * @param timeline with the logs that may be in a report
 */
export async function exportJunit(
  timeline: EndedTimeline,
  { junit: path }: Pick<Inputs, 'junit'>,
  { onWarning }: Pick<ExportContext, 'onWarning'>,
): Promise<void> {
  if (path === undefined) return
  try {
    const { renderJunit } = await import('./report/junit.ts')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, renderJunit(timeline), { mode: 0o600 })
  } catch (error) {
    onWarning(`junit: ${path} could not be written: ${errorText(error)}`)
  }
}
