import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import addFormats from 'ajv-formats'
import { type Document, OpenAPIBackend } from 'openapi-backend'
import type { Certificate } from '../support/certificates.ts'
import { once } from '../support/recordings.ts'

/** A received request. */
export interface GitHubRequest {
  /** `repos/create-deployment` */
  readonly operation: string
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: Record<string, unknown>
  readonly authorization: string | undefined
}

/** An error response. */
export interface Refusal {
  readonly status: number
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** What an operation answers instead of the description's own example; undefined: that example. */
export type Handler = (request: GitHubRequest, example: Record<string, unknown>) => Answer | undefined

export interface GitHubServer {
  /** For `GITHUB_API_URL`, with the path that an enterprise server has. */
  readonly url: string
  readonly requests: GitHubRequest[]
  /** Violations of GitHub's description by requests. */
  readonly breaches: string[]
  readonly handlers: Map<string, Handler>
  /** Decides on each request first: a refusal; `hang`: no answer, ever; `cut`: the connection ends. */
  refuse: (request: GitHubRequest) => Refusal | 'hang' | 'cut' | undefined
  /** Resolves with the next request of an operation. */
  next(operation: string): Promise<GitHubRequest>
  /** Forgets the requests, and answers by the description again. */
  reset(): void
  close(): Promise<void>
}

// Made by scripts/github-description.ts, which also renews it.
const description = JSON.parse(readFileSync(join(import.meta.dirname, 'description.json'), 'utf8')) as Document
closeSchemas()

/** Limits that GitHub enforces and its description lacks: the maximum length of a field, by operation. */
const lengthLimits: Readonly<Record<string, readonly [field: string, maximum: number]>> = {
  // "description is too long (maximum is 140 characters)": https://github.com/zalando/zappr/issues/378
  'repos/create-commit-status': ['description', 140],
  // The same of a deployment: https://github.com/Shopify/shipit-engine/issues/1004
  'repos/create-deployment-status': ['description', 140],
  // "body is too long (maximum is 65536 characters)": https://github.com/danger/danger/issues/424
  'issues/create-comment': ['body', 65_536],
  'issues/update-comment': ['body', 65_536],
}

/**
 * A mock of GitHub made from its OpenAPI description: it answers each operation with the description's example, and
 * records every invalid request.
 * @param certificate serve https with it
 */
export async function startGitHub(root = '/api/v3', certificate?: Certificate): Promise<GitHubServer> {
  const requests: GitHubRequest[] = []
  const breaches: string[] = []
  const handlers = new Map<string, Handler>()
  const waiting: { readonly operation: string; readonly resolve: (request: GitHubRequest) => void }[] = []

  const answer: Received['answer'] = (request, example) => {
    const [field, maximum] = lengthLimits[request.operation] ?? ['', 0]
    if (String(request.body[field] ?? '').length > maximum) {
      breaches.push(`${request.operation} ${field} is too long (maximum is ${maximum} characters)`)
      return { status: 422, body: { message: 'Validation Failed' } }
    }
    const body = example.mock as Record<string, unknown>
    return handlers.get(request.operation)?.(request, body) ?? { status: example.status, body }
  }
  const api = await readDescription(root)

  const listener = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    respond(incoming, outgoing).catch((error) => breaches.push(String(error)))
  }
  const server = certificate === undefined ? createServer(listener) : createTlsServer(certificate, listener)
  // On a busy machine, a client may render for longer than the 5 s after which Node closes an idle connection.
  server.keepAliveTimeout = 60_000
  async function respond(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://github')
    const raw = {
      method: incoming.method ?? 'GET',
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: incoming.headers as Record<string, string>,
      ...(text === '' ? {} : { body: JSON.parse(text) }),
    }
    const request: GitHubRequest = {
      operation: api.matchOperation(raw)?.operationId ?? `${raw.method} ${pathname}`,
      path: pathname,
      query: raw.query,
      body: text === '' ? {} : JSON.parse(text),
      authorization: incoming.headers.authorization,
    }
    requests.push(request)
    for (const { operation, resolve } of waiting) if (operation === request.operation) resolve(request)
    const refusal = github.refuse(request)
    if (refusal === 'hang') return
    if (refusal === 'cut') {
      outgoing.destroy()
      return
    }
    const { status, body }: Answer =
      refusal === undefined
        ? await api.handleRequest(raw, { request, breaches, answer } satisfies Received)
        : { status: refusal.status, body: { message: refusal.message ?? 'Refused' } }
    outgoing.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...(refusal as Refusal)?.headers })
    outgoing.end(JSON.stringify(body))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const github: GitHubServer = {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}${root}`,
    requests,
    breaches,
    handlers,
    refuse: () => undefined,
    reset: () => {
      requests.length = 0
      breaches.length = 0
      handlers.clear()
      github.refuse = () => undefined
    },
    next: (operation) => new Promise((resolve) => waiting.push({ operation, resolve })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return github
}

/** A request, and the server that received it. */
interface Received {
  readonly request: GitHubRequest
  readonly breaches: string[]
  readonly answer: (request: GitHubRequest, example: { readonly status: number; readonly mock: unknown }) => Answer
}

/** GitHub's description, which is compiled once for all servers with this root. */
const readDescription = once(async (root) => {
  const api = new OpenAPIBackend({
    definition: description,
    apiRoot: root,
    quick: true,
    coerceTypes: true,
    ajvOpts: { strict: false, allErrors: true },
    customizeAjv: (ajv) => addFormats.default(ajv),
    handlers: {
      validationFail: ({ validation, operation }, { breaches }: Received) => {
        for (const { instancePath, message, params } of validation.errors ?? []) {
          breaches.push(`${operation.operationId} ${instancePath} ${message} ${JSON.stringify(params)}`)
        }
        return { status: 422, body: { message: 'Validation Failed' } }
      },
      notFound: ({ request }, { breaches }: Received) => {
        breaches.push(`${request.method} ${request.path} is no operation`)
        return { status: 404, body: { message: 'Not Found' } }
      },
      notImplemented: ({ operation, request: { path } }, { request, answer }: Received) =>
        answer(request, api.mockResponseForOperation(operation.operationId ?? path)),
    },
  })
  return api.init()
})

/** GitHub ignores unknown fields; here they are errors. */
function closeSchemas(): void {
  const close = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    if ('properties' in schema && !('additionalProperties' in schema))
      Object.assign(schema, { additionalProperties: false })
    for (const value of Object.values(schema)) close(value)
  }
  for (const operations of Object.values(description.paths ?? {})) {
    for (const operation of Object.values(operations ?? {})) {
      if (typeof operation === 'object' && 'requestBody' in operation) close(operation.requestBody)
    }
  }
}
