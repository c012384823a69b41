import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'
import { withToken } from './kubeconfig.ts'

/** A Kubernetes object. */
export interface KubeObject {
  apiVersion?: string
  kind?: string
  metadata: {
    name: string
    namespace?: string
    uid?: string
    generation?: number
    resourceVersion?: string
    creationTimestamp?: string
    deletionTimestamp?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    finalizers?: string[]
    ownerReferences?: { kind: string; name: string; uid: string }[]
  }
  // biome-ignore lint/suspicious/noExplicitAny: tests read fields of many kinds
  [field: string]: any
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  object: KubeObject
}

/** An error status of the API server. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A small client of the API server. Shares no code with the action, so it cannot have the same bugs. */
export class Api {
  private readonly kubeconfig: string
  private readonly server: URL
  private readonly agent: Agent
  private readonly headers: Record<string, string>

  /** @param kubeconfig the content of a kubeconfig whose current context has an inline token or client certificate */
  constructor(kubeconfig: string) {
    this.kubeconfig = kubeconfig
    const config = parse(kubeconfig)
    const { context } = named(config.contexts, config['current-context'])
    const { cluster } = named(config.clusters, context.cluster)
    const { user } = named(config.users, context.user)
    const decoded = (data?: string) => (data ? Buffer.from(data, 'base64') : undefined)
    this.server = new URL(cluster.server)
    this.agent = new Agent({
      keepAlive: true,
      ca: decoded(cluster['certificate-authority-data']),
      cert: decoded(user['client-certificate-data']),
      key: decoded(user['client-key-data']),
    })
    this.headers = user.token ? { authorization: `Bearer ${user.token}` } : {}
  }

  static fromFile(path: string): Api {
    return new Api(readFileSync(path, 'utf8'))
  }

  /** A client of the same server with another token. */
  withToken(token: string): Api {
    return new Api(withToken(this.kubeconfig, token))
  }

  get(path: string): Promise<KubeObject> {
    return this.call('GET', path)
  }

  /** The object at a path; undefined if the server answers 404. */
  async find(path: string): Promise<KubeObject | undefined> {
    try {
      return await this.get(path)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined
      throw error
    }
  }

  async list(path: string): Promise<KubeObject[]> {
    const list = await this.get(path)
    // The items of a list have no kind.
    const kind = list.kind?.replace(/List$/, '')
    return (list['items'] as KubeObject[]).map((item) => ({ kind, apiVersion: list.apiVersion, ...item }) as KubeObject)
  }

  create(path: string, object: unknown): Promise<KubeObject> {
    return this.call('POST', path, object)
  }

  /** Sends a JSON merge patch, or a JSON patch if the body is a list. */
  patch(path: string, body: unknown): Promise<KubeObject> {
    return this.call(
      'PATCH',
      path,
      body,
      Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json',
    )
  }

  /** Applies an object like `kubectl apply --server-side`. */
  apply(path: string, object: unknown): Promise<KubeObject> {
    return this.call('PATCH', `${path}?fieldManager=tests&force=true`, object, 'application/apply-patch+yaml')
  }

  delete(path: string, options: object = {}): Promise<KubeObject> {
    return this.call('DELETE', path, options)
  }

  /** Watches a collection until the signal aborts or the server ends the watch. */
  async watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    try {
      const response = await this.send(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}watch=true`,
        undefined,
        '',
        signal,
      )
      for await (const line of createInterface({ input: response })) onEvent(JSON.parse(line))
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }

  private async call(method: string, path: string, body?: unknown, type = 'application/json'): Promise<KubeObject> {
    const response = await this.send(method, path, body, type)
    return JSON.parse(await textOf(response))
  }

  private async send(method: string, path: string, body: unknown, type: string, signal?: AbortSignal) {
    const content = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      ...this.headers,
      ...(content && { 'content-type': type, 'content-length': Buffer.byteLength(content) }),
    }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { method, headers, agent: this.agent, ...(signal && { signal }) }
      request(new URL(path, this.server), options, resolve).on('error', reject).end(content)
    })
    if ((response.statusCode ?? 0) < 300) return response
    const text = await textOf(response)
    throw new ApiError(response.statusCode ?? 0, `${method} ${path}: ${response.statusCode} ${messageOf(text)}`)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the entries of kubeconfig lists have different fields
function named(entries: { name: string; [field: string]: any }[], name: string): { [field: string]: any } {
  const entry = entries.find((candidate) => candidate.name === name)
  if (!entry) throw new Error(`the kubeconfig has no entry named ${name}`)
  return entry
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

function messageOf(text: string): string {
  try {
    return JSON.parse(text).message ?? text
  } catch {
    return text
  }
}
