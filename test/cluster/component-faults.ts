import { setTimeout } from 'node:timers/promises'
import type { Api } from './api.ts'
import { until } from './command.ts'
import { killComponent, suspendComponent } from './processes.ts'

/** A fault of a component that all scenarios use. */
export interface ComponentFault {
  /** Words with hyphens; the names of its scenarios begin with them. */
  readonly name: string
  /** For test/reliability/results.md. */
  readonly title: string
  readonly seconds: number
  /** Resolves when the component has failed, with the function that lets it work again. */
  readonly begin: () => Promise<() => void>
}

export const apiServerKilled: ComponentFault = {
  name: 'api-server-killed',
  title: 'The API server is killed, and restarted after 12 s.',
  seconds: 12,
  begin: () => killComponent('kube-apiserver'),
}

export const etcdSuspended: ComponentFault = {
  name: 'etcd-suspended',
  title: 'etcd is suspended for 30 s.',
  seconds: 30,
  begin: async () => suspendComponent('etcd'),
}

export const kubeletKilled: ComponentFault = {
  name: 'kubelet-killed',
  title: 'The kubelet is killed, and restarted after 25 s.',
  seconds: 25,
  begin: () => killComponent('kubelet'),
}

/** The node controller marks a node as not ready when its kubelet has not reported for 40 s. */
export const kubeletLost: ComponentFault = {
  name: 'kubelet-lost',
  title: 'The kubelet is killed, and restarted after 80 s.',
  seconds: 80,
  begin: () => killComponent('kubelet'),
}

/** One scenario's view of a shared fault. Both functions report that the scenario has reached the fault. */
export interface FaultMoments {
  /** Resolves when the component has failed. */
  readonly begins: () => Promise<void>
  /** Resolves when the component works again. */
  readonly ends: () => Promise<void>
}

/** A fault that several scenarios share. It begins when each of them has reached it or has ended. */
export class SharedFault {
  readonly #fault: ComponentFault
  readonly #api: Api
  readonly #begun = Promise.withResolvers<void>()
  readonly #over = Promise.withResolvers<void>()
  #awaited: number

  /** @param scenarios how many scenarios call `join` */
  constructor(fault: ComponentFault, api: Api, scenarios: number) {
    this.#fault = fault
    this.#api = api
    this.#awaited = scenarios
    this.#begun.promise.catch(() => {})
    this.#over.promise.catch(() => {})
  }

  /** Called once by each scenario. */
  join(): FaultMoments {
    let hasReached = false
    const reach = () => {
      if (hasReached) return
      hasReached = true
      this.#awaited -= 1
      if (this.#awaited === 0) this.#inject().then(this.#over.resolve, this.#over.reject)
    }
    const reached = (moment: Promise<void>) => () => {
      reach()
      return moment
    }
    return { begins: reached(this.#begun.promise), ends: reached(this.#over.promise) }
  }

  /** Resolves when the component works again. */
  async #inject(): Promise<void> {
    const isServing = () => this.#api.find('/api/v1/namespaces/kube-system').then(Boolean, () => false)
    const end = await this.#fault.begin().catch((error: unknown) => {
      this.#begun.reject(error)
      throw error
    })
    this.#begun.resolve()
    try {
      await setTimeout(this.#fault.seconds * 1000)
    } finally {
      end()
    }
    await until('the API server answers', 60, isServing)
  }
}
