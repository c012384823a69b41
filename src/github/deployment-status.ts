import type { Timeline } from '../gate/timeline.ts'
import type { Reference } from '../plan/references.ts'
import { namespacesOf } from '../plan/target.ts'
import { plain } from '../report/escape.ts'
import type { Extra, Octokit } from './extra.ts'
import type { Origin } from './origin.ts'
import { title } from './texts.ts'

/** GitHub takes no longer description: https://docs.github.com/rest/deployments/statuses */
const descriptionLimit = 140
const environmentLimit = 255

type State = 'in_progress' | 'success' | 'failure'

/** The status of the deployment that triggered the workflow, or of a new one. */
export class DeploymentStatus implements Extra {
  readonly input = 'deployment-status'
  readonly #octokit: Octokit
  readonly #origin: Origin
  readonly #environmentUrl: string | undefined
  #id: number | undefined
  #shown: State | undefined

  constructor(octokit: Octokit, origin: Origin, environmentUrl: string | undefined) {
    this.#octokit = octokit
    this.#origin = origin
    this.#environmentUrl = environmentUrl
    this.#id = origin.deploymentId
  }

  async show(timeline: Timeline, signal: AbortSignal): Promise<void> {
    const state = stateOf(timeline)
    if (state === this.#shown) return
    const { owner, repo, runUrl } = this.#origin
    this.#id ??= await this.#create(timeline, signal)
    if (this.#id === undefined) return
    await this.#octokit.rest.repos.createDeploymentStatus({
      owner,
      repo,
      deployment_id: this.#id,
      state,
      description: title(timeline, descriptionLimit),
      log_url: runUrl,
      ...(this.#environmentUrl === undefined ? {} : { environment_url: this.#environmentUrl }),
      request: { signal },
    })
    this.#shown = state
  }

  async #create(timeline: Timeline, signal: AbortSignal): Promise<number | undefined> {
    const { owner, repo, headSha } = this.#origin
    const environment = environmentName(timeline)
    // The cluster was never reached: nothing was deployed to anywhere.
    if (environment === '') return undefined
    const { data } = await this.#octokit.rest.repos.createDeployment({
      owner,
      repo,
      ref: headSha,
      environment,
      description: 'Rollout Gate',
      // What is on the cluster already is told: nothing is to be merged for it, and no check can hold it back.
      auto_merge: false,
      required_contexts: [],
      request: { signal },
    })
    if (!('id' in data)) throw new Error(`GitHub made no deployment: ${data.message ?? 'it does not say why'}`)
    return data.id
  }
}

/**
 * The environment that a rollout is deployed to: the cluster's context, and the namespace if there is only one, as
 * `prod/shop`. The same namespace of two clusters must be two environments: GitHub counts an older deployment of the same
 * one as replaced. Empty where the cluster is not known.
 */
export function environmentName({ context, targets }: Timeline): string {
  if (context === '') return ''
  const namespaces = namespacesOf(targets.map(({ target }) => target))
  const words = namespaces.length === 1 ? [context, ...namespaces] : [context]
  // What GitHub does not take in such a name becomes a dash.
  return plain(words.join('/').replace(/['"`,;\\]/g, '-'), environmentLimit)
}

/**
 * Where the deployed application can be looked at: the host of the first Ingress that is gated by its manifest.
 */
export function environmentUrl(references: readonly Pick<Reference, 'exclude' | 'manifest'>[]): string | undefined {
  for (const { exclude, manifest } of references) {
    if (exclude || manifest?.object.kind !== 'Ingress') continue
    const spec = manifest.object['spec'] as IngressSpec | undefined
    const host = asList(spec?.rules)
      .map((rule) => rule?.host)
      .find((host) => typeof host === 'string' && /^[a-z0-9][a-z0-9.-]*$/.test(host))
    if (host === undefined) continue
    const isEncrypted = asList(spec?.tls).some((tls) => asList(tls?.hosts).includes(host))
    return `${isEncrypted ? 'https' : 'http'}://${host}`
  }
  return undefined
}

/** Of a manifest nothing is certain. */
interface IngressSpec {
  readonly rules?: readonly ({ readonly host?: string } | null)[] | null
  readonly tls?: readonly ({ readonly hosts?: readonly string[] | null } | null)[] | null
}

function asList<T>(value: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(value) ? value : []
}

/** A deployment has no word for `cancelled` or `unknown`: what did not become ready has failed. */
function stateOf({ verdict }: Timeline): State {
  if (verdict === undefined) return 'in_progress'
  return verdict.outcome === 'ready' ? 'success' : 'failure'
}
