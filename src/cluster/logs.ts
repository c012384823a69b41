import type { Client } from './client.ts'
import { ApiError } from './failures.ts'
import type { LogRef } from './feed.ts'

export interface LogRequest extends LogRef {
  readonly tailLines: number
}

/** The end of a container's log, or why there is none: `neverWas` where there is nothing to miss. */
export type LogTail =
  | { readonly text: string }
  | { readonly text: undefined; readonly why: string; readonly neverWas?: boolean }

const timeoutMs = 10_000
const longestTailBytes = 64 << 10
/** The kubelet cuts off the *end* of the tail at this limit, and the end is what we want: it must hold the longest tail. */
const limitBytes = 4 << 20

/**
 * The last lines of a container's log. A log that does not exist (any more, or yet) is no error but an answer without
 * text; other refusals are, as `ApiError`. `hide` takes out what nobody may see, before the log is cut.
 */
export async function readLog(
  client: Client,
  request: LogRequest,
  hide: (text: string) => string = (text) => text,
): Promise<LogTail> {
  const { container, previous, tailLines } = request
  const query = new URLSearchParams({
    container,
    previous: String(previous),
    tailLines: String(tailLines),
    limitBytes: String(limitBytes),
  })
  try {
    const text = await client.text(`${logPath(request)}?${query}`, { timeoutMs, maxBytes: limitBytes + 1024 })
    return isRefusal(text)
      ? { text: undefined, why: refusalWords(text.trim()) }
      : { text: lastBytes(hide(text), longestTailBytes) }
  } catch (error) {
    // 400: the container waits to start, or never ran before; 404: the pod is gone.
    if (error instanceof ApiError && (error.status === 400 || error.status === 404)) {
      return { text: undefined, why: error.message, neverWas: error.status === 400 }
    }
    throw error
  }
}

/** The path of a pod's logs. */
export function logPath({ namespace, pod }: { readonly namespace: string; readonly pod: string }): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`
}

/**
 * A kubelet that finds the log gone says so in the log's place, with status 200 (pkg/kubelet/kuberuntime,
 * `GetContainerLogs`; cri-client/pkg/logs, `ReadLogs`).
 */
const refusals =
  /^(unable to retrieve container logs for \S+|failed to try resolving symlinks in path .*|failed to (open|create|find) log file .*|rpc error: code = .*)$/

/** Whether a text is the kubelet's word that there is no log, and not a log. */
export function isRefusal(text: string): boolean {
  return refusals.test(text.trim())
}

/** The kubelet names a container that it has removed by an id that says nothing to anybody. */
function refusalWords(text: string): string {
  return /^unable to retrieve container logs|code = NotFound/.test(text) ? 'the node no longer has it' : text
}

/** The last whole lines that fit; of a single longer line its end. */
function lastBytes(text: string, limit: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= limit) return text
  const tail = bytes
    .subarray(bytes.length - limit)
    .toString('utf8')
    .replace(/^\uFFFD+/, '')
  const lineEnd = tail.indexOf('\n')
  return lineEnd === -1 || lineEnd === tail.length - 1 ? tail : tail.slice(lineEnd + 1)
}
