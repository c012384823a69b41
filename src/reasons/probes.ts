import type { Container, Probe } from '../cluster/objects.ts'
import type { HintWords, SentenceFacts } from './spec.ts'
import { ifPresent, logHint } from './wording.ts'

/* Sentences and hints about failing probes. */

/** The detail of a problem with a probe: `liveness-failing`, `startup-failing`, `readiness-failing`. */
export interface ProbeDetail {
  /** True: the container runs, and its probe has not succeeded. False: it was killed because of the probe. */
  readonly isRunning: boolean
  /** The container was ready before. */
  readonly wasReady?: boolean
  /** The kubelet's report: empty if the probe printed nothing, absent if the probe has not failed yet. */
  readonly failure?: string
  readonly answer?: ProbeAnswer
}

/** The container's answer to a probe, as the kubelet reports it (pkg/probe/http, tcp, grpc). */
export type ProbeAnswer =
  | { readonly type: 'http-status'; readonly status: number }
  | { readonly type: 'grpc-status'; readonly status: string }
  | { readonly type: 'grpc-error'; readonly code: string }
  | {
      readonly type:
        | 'no-grpc-server'
        | 'no-grpc-health'
        | 'connection-refused'
        | 'connection-closed'
        | 'command-timeout'
        | 'redirects'
        | 'requires-certificate'
        | 'timeout'
        | 'expects-tls'
        | 'expects-http2'
        | 'expects-plain-http'
    }
  /** The kubelet could not run the probe. `program`: the program that does not exist or may not be run. */
  | { readonly type: 'not-asked'; readonly program?: string }

export type ProbeKind = 'liveness' | 'readiness' | 'startup'

export function probeSentence(
  kind: ProbeKind,
  { isRunning, wasReady, failure }: ProbeDetail,
  { times, isStarting }: SentenceFacts,
): string {
  const why = ifPresent`: ${failure}`
  if (!isRunning) return `is killed because its ${kind} probe fails${times}`
  if (wasReady) return `was ready, and then not ready${why}${times}`
  return failure === undefined || isStarting
    ? `runs, but its ${kind} probe has not succeeded${why}`
    : `fails its ${kind} probe${why}`
}

/** Hint for a failing probe: what the probe requests, and how the container answers. */
export function probeHint(kind: ProbeKind, { answer }: Partial<ProbeDetail>, words: HintWords): string {
  const { spec } = words
  const probe = spec?.[`${kind}Probe`]
  if (answer?.type === 'not-asked') {
    const program = answer.program?.replaceAll('`', '')
    if (program === undefined) return 'The kubelet cannot run the probe. Its error is in the message.'
    return `The kubelet cannot run the probe: ${spec?.image ?? 'the image'} has no program ${program} that may be executed. Add it to the image, or let the probe ask with \`httpGet\`, \`tcpSocket\` or \`grpc\`.`
  }
  const further = {
    liveness: 'If the container only needs longer to start, give it a startupProbe.',
    readiness: logHint(words),
    startup: `If the container only needs longer, raise failureThreshold or periodSeconds of the probe.`,
  }
  return `${probeRequest(probe, answer, spec)} ${further[kind]}`
}

function probeRequest(probe: Probe | undefined, answer: ProbeAnswer | undefined, spec: Container | undefined): string {
  if (probe === undefined) return 'Check what the probe asks.'
  const command = probe.exec?.command?.join(' ')
  if (command !== undefined) {
    const limit = `did not end within its timeoutSeconds of ${probe.timeoutSeconds ?? 1}`
    const end = answer?.type === 'command-timeout' ? limit : 'has to end with code 0'
    return `The probe runs \`${command.replaceAll('`', '')}\`, which ${end}.`
  }
  const port = probe.httpGet?.port ?? probe.tcpSocket?.port ?? probe.grpc?.port
  const path = probe.httpGet === undefined ? '' : ` for ${probe.httpGet.path ?? '/'}`
  // If a server answers, something listens on the port, even if the container does not declare the port.
  const isUnanswered = ['connection-refused', 'no-grpc-server', 'timeout', undefined].includes(answer?.type)
  const ports = spec?.ports ?? []
  if (
    isUnanswered &&
    ports.length > 0 &&
    !ports.some(({ containerPort, name }) => containerPort === port || name === port)
  ) {
    const declared = ports.map(({ containerPort }) => containerPort).join(', ')
    return `The probe asks port ${port}${path}, but the container declares ${declared}.`
  }
  return `The probe asks port ${port}${path}: ${answerText(answer, probe)}`
}

/** The meaning of an answer to a probe. */
function answerText(answer: ProbeAnswer | undefined, { timeoutSeconds = 1, httpGet }: Probe): string {
  const listen = 'It has to listen on that port, and on all addresses, not on localhost alone.'
  switch (answer?.type) {
    case 'http-status': {
      const { status } = answer
      const isPlain = httpGet?.scheme !== 'HTTPS'
      const tls =
        status === 400 && isPlain ? ' Many HTTPS ports answer HTTP so: if it is one, set `scheme: HTTPS`.' : ''
      return `the app answers ${status}, and any of 200 to 399 would do.${tls}`
    }
    case 'expects-tls':
      return 'the app expects HTTPS there: set `scheme: HTTPS`, or ask its HTTP port.'
    case 'expects-http2':
      return 'the app expects HTTP/2 there, as a gRPC server does: let the probe ask with `grpc`, or ask another port.'
    case 'expects-plain-http':
      return 'the app expects HTTP there, not HTTPS: remove `scheme: HTTPS`, or ask its HTTPS port.'
    case 'no-grpc-server':
      return `no gRPC server answers there. ${listen}`
    case 'no-grpc-health':
      return 'the app answers, but does not implement the gRPC health protocol (grpc.health.v1.Health).'
    case 'grpc-status':
      return `the app answers ${answer.status}, and only SERVING would do.`
    case 'grpc-error':
      return `the app answers with the gRPC code ${answer.code}. Does it know the service that the probe names?`
    case 'connection-refused':
      return `nothing listens there. ${listen}`
    case 'connection-closed':
      return 'the app closes the connection without an answer.'
    case 'redirects':
      return 'the app redirects without end.'
    case 'requires-certificate':
      return 'the app requires a client certificate, and a probe has none: ask another port.'
    case 'timeout':
      return `no answer within its timeoutSeconds of ${timeoutSeconds}.`
    default:
      return 'does the app listen there?'
  }
}
