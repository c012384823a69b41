import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { addAbortSignal, pipeline, type Readable } from 'node:stream'
import { createSecureContext, type SecureContext } from 'node:tls'
import { cutText, errorText, tryParseJson, UserError } from '../errors.ts'
import { maxAnswerBytes, maxErrorBytes, requestMs } from '../thresholds.ts'
import { type Clock, ServerOffset, withTimeout } from './clock.ts'
import type { ExecCredential } from './exec-plugin.ts'
import { ApiError, ConnectionError, errorFromStatus, isSuccess, isUnauthorized, toConnectionError } from './failures.ts'
import type { Kubeconfig } from './kubeconfig.ts'
import { stringsToMask } from './secret-values.ts'
import type { Secrets } from './secrets.ts'

/* Sends requests to the API server, with credentials and time limits. */

interface ClientOptions {
  readonly clock: Clock
  /** Receives every secret from a plugin or file, before the client uses the secret. */
  readonly secrets: Pick<Secrets, 'add'>
  /** `rollout-gate/1.2.3` */
  readonly userAgent: string
  /** The environment variables for exec plugins. */
  readonly env: NodeJS.ProcessEnv
}

interface RequestOptions {
  readonly accept?: string
  /** A document to post as JSON. Without a document, the request is a GET. */
  readonly post?: object
  /** How the server may compress its answer. Default gzip. */
  readonly encoding?: 'gzip' | 'identity'
  /** Time limit for the whole answer, or for opening a stream. Default `requestMs`. */
  readonly timeoutMs?: number
  /** For long answers, instead of `timeoutMs`: the maximum time without a byte. */
  readonly silenceMs?: number
  readonly maxBytes?: number
  /** Called with the size of each part of the answer. If the function throws, the request ends. */
  readonly onBytes?: (bytes: number) => void
  readonly signal?: AbortSignal
}

interface Session {
  readonly kubeconfig: Kubeconfig
  readonly credential: ExecCredential
}

/**
 * HTTP client for JSON, text and streams. Failures are an `ApiError` (the server answered with an error), a
 * `ConnectionError` (no readable answer) or a `UserError` (the credentials cannot be read). If the server answers 401,
 * the client reads the credentials again and repeats the request once. The client also renews expired credentials of an
 * exec plugin.
 */
export class Client {
  readonly #kubeconfig: Kubeconfig
  readonly #reload: () => Kubeconfig
  readonly #options: ClientOptions
  readonly #serverOffset = new ServerOffset()
  readonly #closing = new AbortController()
  readonly #httpAgent = new http.Agent({ keepAlive: true })
  readonly #httpsAgent = new https.Agent({ keepAlive: true })
  #secureContext: { readonly certificates: string; readonly context: SecureContext } | undefined
  #session: Session | undefined
  #opening: Promise<Session> | undefined

  constructor(kubeconfig: Kubeconfig, reload: () => Kubeconfig, options: ClientOptions) {
    this.#kubeconfig = kubeconfig
    this.#reload = reload
    this.#options = options
  }

  /** Server time minus local time, in milliseconds. */
  get serverOffsetMs(): number {
    return this.#serverOffset.offsetMs
  }

  /** Ends every request and closes every connection. */
  close(): void {
    this.#closing.abort(new ConnectionError('ECANCELED', 'the connection to the cluster was closed'))
    this.#httpAgent.destroy()
    this.#httpsAgent.destroy()
  }

  /** Reads JSON. A Status object that reports a failure is an error too: a proxy may have changed the HTTP status. */
  requestJson(path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.#withTimeLimit(options, async (signal, extend) => {
      const response = await this.#sendAuthorized(path, options, signal)
      const onBytes = (bytes: number) => {
        if (options.silenceMs !== undefined) extend()
        options.onBytes?.(bytes)
      }
      const json = await readBytes(response, options.maxBytes ?? maxAnswerBytes, onBytes)
      let body: { readonly kind?: unknown; readonly status?: unknown } | null
      try {
        body = JSON.parse(json.toString('utf8')) as typeof body
      } catch {
        const type = response.headers['content-type'] ?? 'something'
        throw new ConnectionError('EBADMSG', `the server answered ${type} that is not JSON`)
      }
      if (body?.kind === 'Status' && body.status === 'Failure') throw errorFromStatus(body, 500, 'no reason given')
      return body
    })
  }

  requestText(path: string, options: RequestOptions = {}): Promise<string> {
    return this.#withTimeLimit(options, async (signal) =>
      readTextBody(
        await this.#sendAuthorized(path, { accept: '*/*', ...options }, signal),
        options.maxBytes ?? maxAnswerBytes,
      ),
    )
  }

  /**
   * Opens a stream. The time limit covers only the opening. Reading rejects when the stream breaks or the signal is
   * aborted. Asks for an uncompressed answer, because a proxy that compresses a stream delays its events.
   */
  async openStream(path: string, options: RequestOptions & { readonly signal: AbortSignal }): Promise<Readable> {
    const uncompressed = { ...options, encoding: 'identity' } as const
    const stream = decompressedBody(
      await this.#withTimeLimit(options, (signal) => this.#sendAuthorized(path, uncompressed, signal)),
    )
    return addAbortSignal(AbortSignal.any([options.signal, this.#closing.signal]), stream)
  }

  /**
   * Calls `work` with the URL and the credentials of a request, so that `work` can open a WebSocket. Rejects like the
   * other requests. After a 401, calls `work` once more with new credentials.
   */
  withCredentials<T>(
    path: string,
    options: RequestOptions,
    work: (url: URL, request: https.RequestOptions, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return this.#withTimeLimit(options, (signal) =>
      this.#runAuthorized(async (session) => {
        const url = new URL(session.kubeconfig.server + path)
        return work(url, await this.#requestOptions(session, url, options), signal)
      }),
    )
  }

  async #withTimeLimit<T>(
    { silenceMs, timeoutMs = silenceMs ?? requestMs, signal }: RequestOptions,
    work: (signal: AbortSignal, extend: () => void) => Promise<T>,
  ) {
    const signals = signal ? [signal, this.#closing.signal] : [this.#closing.signal]
    try {
      return await withTimeout(this.#options.clock, timeoutMs, signals, work)
    } catch (error) {
      throw error instanceof ApiError || error instanceof UserError ? error : toConnectionError(error)
    }
  }

  #sendAuthorized(path: string, options: RequestOptions, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#runAuthorized((session) => this.#sendOnce(session, path, options, signal))
  }

  /** Runs an attempt. After a 401, runs the attempt once more with new credentials. */
  async #runAuthorized<T>(attempt: (session: Session) => Promise<T>): Promise<T> {
    const session = await this.#currentSession()
    try {
      return await attempt(session)
    } catch (error) {
      if (!isUnauthorized(error)) throw error
      const renewed = await this.#renewSession(session).catch((cause) => {
        throw new ApiError(error.status, `${error.message}; reading the credentials again failed: ${cause.message}`)
      })
      return await attempt(renewed)
    }
  }

  async #currentSession(): Promise<Session> {
    const session = this.#session
    if (session === undefined) return this.#openSession(() => this.#kubeconfig)
    const { expiresAt } = session.credential
    return expiresAt !== undefined && expiresAt <= this.#options.clock.now() ? this.#renewSession(session) : session
  }

  /** If several requests get a 401 at the same time, the credentials are renewed only once. */
  async #renewSession(stale: Session): Promise<Session> {
    return this.#session === stale ? this.#openSession(this.#reload) : this.#currentSession()
  }

  #openSession(load: () => Kubeconfig): Promise<Session> {
    this.#opening ??= this.#readCredentials(load).finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  async #readCredentials(load: () => Kubeconfig): Promise<Session> {
    const kubeconfig = load()
    kubeconfig.secrets.forEach(this.#options.secrets.add)
    const { exec, execCluster } = kubeconfig
    // Loaded only if a plugin is used: the start is faster without `node:child_process`.
    const credential = exec
      ? await (await import('./exec-plugin.ts')).runExecPlugin(
          exec,
          execCluster,
          this.#options.env,
          this.#closing.signal,
        )
      : {}
    for (const secret of [credential.token, credential.key, credential.certificate]) this.#addSecret(secret)
    this.#session = { kubeconfig, credential }
    return this.#session
  }

  async #sendOnce(session: Session, path: string, options: RequestOptions, signal: AbortSignal) {
    const url = new URL(session.kubeconfig.server + path)
    const request = await this.#requestOptions(session, url, options)
    const agent = url.protocol === 'http:' ? this.#httpAgent : this.#httpsAgent
    const sentAt = this.#options.clock.now()
    const response = await sendRequest(url, { agent, ...request, signal }, options.post && JSON.stringify(options.post))
    this.#serverOffset.addDateHeader(response.headers.date, sentAt, this.#options.clock.now())
    if (isSuccess(response.statusCode)) return response
    throw await readApiError(response)
  }

  async #requestOptions(
    session: Session,
    url: URL,
    { accept = 'application/json', encoding = 'gzip', post }: RequestOptions,
  ) {
    const { kubeconfig, credential } = session
    const request: https.RequestOptions = {
      method: post === undefined ? 'GET' : 'POST',
      headers: {
        Accept: accept,
        'Accept-Encoding': encoding,
        'User-Agent': this.#options.userAgent,
        ...(post === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
    }
    try {
      await kubeconfig.applyTo(request, credential)
    } catch (error) {
      throw unreadableCredentialsError(kubeconfig.user, error)
    }
    const headers = request.headers as http.OutgoingHttpHeaders
    this.#addSecret(String(headers['Authorization'] ?? '').replace(/^Bearer /, ''))
    // The agent for a proxy creates its own TLS contexts.
    if (kubeconfig.proxy !== undefined || url.protocol === 'http:') return request
    return { ...request, secureContext: this.#secureContextOf(request) }
  }

  /** Connections with the same certificates share a TLS context: Node parses the certificates for each context. */
  #secureContextOf({ ca, cert, key }: https.RequestOptions): SecureContext {
    const certificates = String([ca, cert, key])
    if (this.#secureContext?.certificates !== certificates)
      this.#secureContext = { certificates, context: createSecureContext({ ca, cert, key }) }
    return this.#secureContext.context
  }

  #addSecret(secret = ''): void {
    stringsToMask(secret).forEach(this.#options.secrets.add)
  }
}

/**
 * Sends one request, and resolves once the headers of the response arrive. If the server has just closed a pooled
 * connection, sends the request again on another connection.
 */
async function sendRequest(url: URL, options: https.RequestOptions, body?: string): Promise<IncomingMessage> {
  for (;;) {
    const request = (url.protocol === 'https:' ? https : http).request(url, options)
    try {
      return await new Promise<IncomingMessage>((resolve, reject) => {
        request.once('response', resolve)
        request.on('error', reject)
        request.end(body)
      })
    } catch (error) {
      const stale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
      if (!stale || options.signal?.aborted) throw error
    }
  }
}

/** Reads the error from the response to a failed request: the message of its Status object, or a line of plain text. */
export async function readApiError(response: IncomingMessage): Promise<ApiError> {
  const text = await readTextBody(response, maxErrorBytes).catch(() => '')
  const { statusCode = 0, statusMessage, headers } = response
  // Proxies and load balancers answer in HTML. A server that expects TLS answers with one line of text.
  const line = /^[\w ,.'-]{1,200}\s*$/.test(text) ? text.trim() : ''
  const message = line || statusMessage || 'no reason given'
  // The API server writes seconds; any other form is ignored.
  const retryAfter = headers['retry-after'] ?? ''
  const retryAfterMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined
  return errorFromStatus(tryParseJson(text), statusCode, message, retryAfterMs)
}

function unreadableCredentialsError(user: string, error: unknown): UserError {
  const cause = cutText(errorText(error).replace(/\s+/g, ' '), 500)
  const message = `The credentials of user "${user}" cannot be used: ${cause}`
  return new UserError([{ input: 'kubeconfig', message }], 'credentials-expired')
}

/** The body of a response, decompressed if needed: a proxy may compress the body although the request forbids it. */
function decompressedBody(response: IncomingMessage): Readable {
  // Names of encodings are case-insensitive, and `x-gzip` also means gzip (RFC 9110, 8.4.1).
  if (!/^(?:x-)?gzip$/i.test(response.headers['content-encoding'] ?? '')) return response
  // Loaded only for a compressed body. The load is synchronous, because the response needs an error listener at once.
  const { constants, createGunzip } = process.getBuiltinModule('node:zlib')
  // If one stream fails, the other is destroyed too, and reading rejects.
  return pipeline(response, createGunzip({ flush: constants.Z_SYNC_FLUSH }), () => {})
}

async function readTextBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  return (await readBytes(response, maxBytes)).toString('utf8')
}

/** Reads a body. If the decompressed body is larger than `maxBytes`, throws to protect the runner's memory. */
async function readBytes(
  response: IncomingMessage,
  maxBytes: number,
  onBytes: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const stream: AsyncIterable<Buffer> = decompressedBody(response)
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream) {
    onBytes(chunk.length)
    length += chunk.length
    if (length > maxBytes) {
      response.destroy()
      throw new ConnectionError('E2BIG', `the answer is larger than ${maxBytes >> 20} MiB`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
