import type { ServerResponse } from 'node:http'
import type { ReceivedRequest } from '../support/failures.ts'
import { ApiError } from '../support/status.ts'
import { resetConnection } from '../support/stream.ts'

/** What a fault may use. */
export interface FaultContext {
  readonly request: ReceivedRequest
  readonly response: ServerResponse
  /** Resolves after a time of the test's clock. */
  readonly after: (ms: number) => Promise<void>
}

/** A fault in the answer to one request. `answer`: the server answers after it. */
export type Fault = (context: FaultContext) => 'answered' | 'answer' | Promise<'answered' | 'answer'>

/** The faults of networks, proxies and servers, as listed in results.md. */
export const faults: Readonly<Record<string, Fault>> = {
  'The connection is reset.': ({ request: _, response }) => {
    resetConnection(response.socket)
    return 'answered'
  },
  'The request is never answered.': () => 'answered',
  'The answer comes after 20 s.': async ({ after }): Promise<'answer'> => {
    await after(20_000)
    return 'answer'
  },
  'The headers come, the body never.': ({ response }) => {
    response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders()
    return 'answered'
  },
  'The answer breaks off.': ({ response }) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': 1_000 })
    response.write('{"kind":"', () => response.socket?.destroy())
    return 'answered'
  },
  'The answer is broken JSON.': ({ response }) => send(response, 200, '{"kind":"List","items":[{]}\n'),
  'The answer is JSON of another form.': ({ response }) =>
    send(response, 200, '{"kind":"List","items":[{}, null, 7]}\n'),
  'A proxy answers with a page in HTML.': ({ response }) =>
    send(response, 200, '<html><body>Please sign in</body></html>\n', { 'Content-Type': 'text/html' }),
  'A proxy redirects to its page.': ({ response }) =>
    send(response, 302, '', { Location: 'https://login.example.com/' }),
  'Status 200 with a Status that reports a failure.': ({ response }) => status(response, 200, new ApiError(500)),
  'Status 401.': ({ response }) => status(response, 401),
  'Status 403.': ({ response }) => status(response, 403),
  'Status 404.': ({ response }) => status(response, 404),
  'Status 409.': ({ response }) => status(response, 409),
  'Status 410.': ({ response }) => status(response, 410),
  'Status 429 with Retry-After.': ({ response }) => status(response, 429, undefined, { 'Retry-After': '3' }),
  'Status 500.': ({ response }) => status(response, 500),
  'Status 503 in HTML, of a load balancer.': ({ response }) =>
    send(response, 503, '<html>no backend</html>', { 'Content-Type': 'text/html' }),
  'Status 504.': ({ response }) => status(response, 504),
}

function status(
  response: ServerResponse,
  code: number,
  error: ApiError = new ApiError(code),
  headers: Readonly<Record<string, string>> = {},
): 'answered' {
  return send(response, code, `${JSON.stringify(error.status)}\n`, headers)
}

function send(
  response: ServerResponse,
  code: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): 'answered' {
  response.writeHead(code, { 'Content-Type': 'application/json', ...headers }).end(body)
  return 'answered'
}

/** The requests that a fault concerns, by the stage of the gate. */
export const stages: Readonly<Record<string, (request: ReceivedRequest) => boolean>> = {
  discovery: ({ path }) => /^\/apis?(?:\/[^/]+){0,2}$/.test(path),
  'first list': (request) => isList(request) && !request.query.has('continue'),
  'second page': ({ query }) => query.has('continue'),
  watch: ({ query }) => query.has('watch'),
  events: ({ path }) => path.endsWith('/events'),
  log: ({ path }) => path.endsWith('/log'),
}

function isList({ method, path, query }: ReceivedRequest): boolean {
  return method === 'GET' && !query.has('watch') && /\/(?:deployments|replicasets|pods|jobs)$/.test(path)
}
