import { isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock } from '../cluster/clock.ts'
import type { AccessQuestion, Cluster } from '../cluster/cluster.ts'
import {
  answerOfProxy,
  ConnectionError,
  isForbidden,
  isTimeout,
  isUnauthorized,
  unreachedPod,
} from '../cluster/failures.ts'
import type { PodPort } from '../cluster/port-forward.ts'
import { type Mistake, throwMistakes } from '../errors.ts'
import type { Header, Scheme } from '../plan/checks.ts'
import { requestMs } from '../thresholds.ts'
import { exchange, type HttpAnswer, type HttpQuery, MissingAnswer, missingAnswer } from './exchange.ts'

/** What a request addresses, besides the port. */
export interface HttpTarget {
  readonly scheme: Scheme
  /** With its query. */
  readonly path: string
}

/** What one line of `http-checks` asks. */
export interface NeededAccess {
  readonly line: number
  readonly namespace: string
  readonly method: string
  readonly headers: readonly Header[]
}

type AskedCluster = Pick<Cluster, 'forwardPort' | 'withCredentials' | 'permits' | 'initially' | 'get' | 'list'>

/**
 * The ways to ask a pod: its port forwarded through the API server, which works where the control plane cannot connect to
 * pods; where that is forbidden, the proxy of the API server.
 */
export class Access {
  readonly #cluster: AskedCluster
  readonly #clock: Clock
  /** The namespaces where forwarding is forbidden. */
  readonly #proxied = new Set<string>()

  constructor(cluster: AskedCluster, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
  }

  /**
   * Reviews the access that the lines need, and chooses a way for each namespace. Where the API server does not review, both are
   * tried later.
   * @throws UserError if neither way is permitted
   */
  async review(needs: readonly NeededAccess[]): Promise<void> {
    const byNamespace = [...Map.groupBy(needs, ({ namespace }) => namespace).values()]
    const mistakes = await this.#cluster.initially(() =>
      Promise.all(byNamespace.map((ofNamespace) => this.#reviewNamespace(ofNamespace))),
    )
    throwMistakes(mistakes.flat().map((mistake) => ({ ...mistake, reason: 'forbidden' })))
  }

  async #reviewNamespace(needs: readonly NeededAccess[]): Promise<readonly Mistake[]> {
    const namespace = needs[0]?.namespace ?? ''
    if (await this.#permits(['get', 'create'].map((verb) => ({ verb, ...forwarding, namespace })))) return []
    this.#proxied.add(namespace)
    const mistakes = (await Promise.all(needs.map((need) => this.#reviewProxy(need)))).flatMap(
      (mistake) => mistake ?? [],
    )
    const isFirst = ({ message }: Mistake, index: number) =>
      mistakes.findIndex((other) => other.message === message) === index
    return mistakes.filter(isFirst)
  }

  async #reviewProxy({ line, namespace, method, headers }: NeededAccess): Promise<Mistake | undefined> {
    const header = headers.find(isForApiServer)
    const verb = verbOf(method)
    const isPermitted = await this.#permits([{ verb, resource: 'pods', subresource: 'proxy', namespace }])
    if (isPermitted && header === undefined) return undefined
    const place = { input: 'http-checks', line }
    const forward = rule('pods/portforward', ['get', 'create'])
    if (isPermitted) {
      const message = `The header ${header?.[0]} cannot pass the proxy of the API server, and ports of pods in namespace ${namespace} may not be forwarded. Add this rule to the user's Role: ${forward}.`
      return { ...place, message }
    }
    const proxy = rule('pods/proxy', [verb])
    const remedy =
      header === undefined
        ? `one of these rules to the user's Role: ${forward} or ${proxy}`
        : `this rule to the user's Role: ${forward}`
    const message = `The credentials permit neither to forward ports of pods in namespace ${namespace} nor to use pods/proxy there. Add ${remedy}.`
    return { ...place, message }
  }

  /** Whether the API server denies none of these permissions. */
  async #permits(questions: readonly AccessQuestion[]): Promise<boolean> {
    const answers = await Promise.all(questions.map((question) => this.#cluster.permits(question)))
    return !answers.includes(false)
  }

  /**
   * Asks a pod. A pod's certificate is not verified, as a probe does not verify it.
   * @throws MissingAnswer if the pod does not answer; an ApiError or ConnectionError if the API server does not let it be asked
   */
  async askPod(pod: PodPort, target: HttpTarget, query: HttpQuery, signal: AbortSignal): Promise<HttpAnswer> {
    return this.#unlessForbidden(
      pod.namespace,
      () => this.#askForwarded(pod, target, query, signal),
      () => this.#askThroughProxy(pod, target, query, signal),
    )
  }

  async #unlessForbidden<T>(namespace: string, forward: () => Promise<T>, proxy: () => Promise<T>): Promise<T> {
    if (!this.#proxied.has(namespace)) {
      try {
        return await forward()
      } catch (error) {
        if (!isForbidden(error)) throw error
        this.#proxied.add(namespace)
      }
    }
    try {
      return await proxy()
    } catch (error) {
      // Either may be granted again.
      if (isForbidden(error)) this.#proxied.delete(namespace)
      throw error
    }
  }

  async #askForwarded(pod: PodPort, target: HttpTarget, query: HttpQuery, signal: AbortSignal): Promise<HttpAnswer> {
    const connection = await this.#cluster.forwardPort(pod, signal)
    const socket =
      target.scheme === 'https'
        ? connectTls({ socket: connection, rejectUnauthorized: false, servername: serverName(query.headers) })
        : connection
    try {
      const url = new URL(target.path, `http://localhost:${pod.port}`)
      return await exchange(url, { createConnection: () => socket }, query, this.#clock, signal)
    } catch (error) {
      // The connection to the API server broke.
      if (error instanceof ConnectionError && !isTimeout(error)) throw error
      throw missingAnswer(error, query.timeoutMs)
    } finally {
      connection.destroy()
    }
  }

  async #askThroughProxy(
    { namespace, pod, port }: PodPort,
    { scheme, path }: HttpTarget,
    query: HttpQuery,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const header = query.headers.find(isForApiServer)
    if (header !== undefined) throw new MissingAnswer(`the header ${header[0]} cannot pass the proxy of the API server`)
    const name = `${scheme === 'https' ? 'https:' : ''}${pod}:${port}`
    // Resolves `..`, which must not lead out of the proxy.
    const { pathname, search } = new URL(path, 'http://localhost')
    const proxy = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${name}/proxy`
    const options = { accept: '*/*', encoding: 'identity', timeoutMs: requestMs + query.timeoutMs, signal } as const
    let answer: HttpAnswer | undefined
    try {
      return await this.#cluster.withCredentials(
        `${proxy}${pathname}${search}`,
        options,
        async (url, request, ending) => {
          answer = await exchange(url, request, query, this.#clock, ending)
          const refusal = answerOfProxy(answer, { resource: 'pods', name })
          if (refusal !== undefined) throw refusal
          return { ...answer, location: withoutProxy(answer.location, proxy) }
        },
      )
    } catch (error) {
      const cause = unreachedPod(error)
      if (cause !== undefined || isTimeout(error)) throw missingAnswer(cause ?? error, query.timeoutMs)
      // A pod that is an API server refuses its own callers in the same words.
      if (answer !== undefined && isUnauthorized(error) && (await this.#credentialsWork(namespace))) return answer
      throw error
    }
  }

  /** Rejects if the API server refuses the credentials. */
  async #credentialsWork(namespace: string): Promise<boolean> {
    await this.#cluster.permits({ verb: 'get', ...forwarding, namespace })
    return true
  }
}

const forwarding = { resource: 'pods', subresource: 'portforward' } as const

/** The verb that the API server derives from a method (apiserver `endpoints/request/requestinfo.go`). */
function verbOf(method: string): string {
  const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }
  return verbs[method] ?? 'get'
}

/** A rule of a Role, as YAML. */
function rule(resource: string, verbs: readonly string[]): string {
  const list = verbs.map((verb) => `"${verb}"`).join(', ')
  return `{apiGroups: [""], resources: ["${resource}"], verbs: [${list}]}`
}

/** Headers that a proxy of the API server uses itself: they never reach the pod, or change who asks. */
function isForApiServer([name]: Header): boolean {
  return /^(?:authorization|host|connection|upgrade|impersonate-.*|x-remote-.*)$/i.test(name)
}

/** The name for TLS (SNI): of the header `Host`. */
function serverName(headers: readonly Header[]): string {
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1].replace(/:\d+$/, '') ?? ''
  return isIP(host) === 0 ? host : ''
}

/** The API server adds the path of its proxy to a redirect of the pod (apimachinery `util/proxy/transport.go`). */
function withoutProxy(location: string | undefined, proxy: string): string | undefined {
  const start = location?.indexOf(proxy) ?? -1
  return start < 0 ? location : location?.slice(start + proxy.length)
}
