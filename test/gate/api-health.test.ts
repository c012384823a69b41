import type { FeedEvent } from '../../src/cluster/feed.ts'
import { gateHint } from '../../src/diagnosis/hints.ts'
import type { EndedRunRecord, JudgedTargetRecord } from '../../src/gate/run-record.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createTarget,
  createWorkload,
  failed,
  modified,
  run,
  runUntil,
  synced,
  unavailable,
} from '../kit/gate.ts'
import { complete, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { createRecord, createTargetRecord } from '../report/builders.ts'

const web = createWorkload('web')
const widget = { apiVersion: 'acme.io/v1', kind: 'Widget', namespace: 'shop' }
const widgetTarget = createTarget({ apiVersion: widget.apiVersion, kind: widget.kind, name: 'w' })
const createWidget = (status: object, resourceVersion = '1') => ({
  apiVersion: widget.apiVersion,
  kind: widget.kind,
  metadata: { name: 'w', namespace: 'shop', uid: 'widget-uid', generation: 1, resourceVersion },
  status: { observedGeneration: 1, ...status },
})
const readyWidget = createWidget({ conditions: [{ type: 'Ready', status: 'True' }] })
const widgetsSynced = { type: 'SYNCED', ...widget } as const
const widgetsFail = { ...failed(500, undefined, 'conversion webhook failed'), ...widget, lastSuccessAt: moment(0) }
const webReady = (second: number) => at(second, modified(web.pod(podIs.ready(second - 60)), web.deployment(complete())))
const both = { targets: [widgetTarget, web.target] }
const start: FeedEvent[] = at(0, added(readyWidget), widgetsSynced, web.creating, allSynced)

describe('a kind that becomes unreadable after its target was ready', () => {
  it('keeps the gate from ready, whatever other kinds answer', () => {
    const { outcome, reason, seconds, message, record } = run([start, at(5, widgetsFail), webReady(20)], both)
    const hint = gateHint(
      createRecord({ ...(record as EndedRunRecord<JudgedTargetRecord>), targets: [createTargetRecord()] }),
    )
    expect({ outcome, reason, seconds }).toEqual({ outcome: 'unknown', reason: 'api-unreachable', seconds: 120 })
    expect(message).toBe('Widgets could not be read for 2 m: conversion webhook failed')
    expect(hint).toMatch(/^The API server answers, but cannot read Widgets: check the conversion webhook /)
  })

  it('allows ready once it is readable again and still ready', () => {
    const back = at(60, { ...alive, ...widget })
    expect(run([start, at(5, widgetsFail), webReady(20), back], both)).toMatchObject({ outcome: 'ready', seconds: 60 })
  })

  it('shows that the target has failed, once it is readable again', () => {
    const failedWidget = createWidget({ conditions: [{ type: 'Stalled', status: 'True', reason: 'Broken' }] }, '2')
    const back = at(60, modified(failedWidget), { ...alive, ...widget })
    expect(run([start, at(5, widgetsFail), webReady(20), back], both)).toMatchObject({ outcome: 'failed' })
  })

  it('does not stop the deadlines of targets that do not need it', () => {
    const impatient = { ...web.target, clocks: { timeoutMs: 30_000 } }
    const { targets } = run([start, at(5, widgetsFail)], { targets: [widgetTarget, impatient] })
    expect(targets[1]).toMatchObject({ outcome: 'timed-out', seconds: 30 })
  })

  it('is logged when it is lost and when it returns, and in the heartbeat', () => {
    const { entries } = runUntil(95, [start, at(5, widgetsFail), at(90, { ...alive, ...widget })], both)
    expect(entries).toContain('5 note Widgets cannot be read (conversion webhook failed): no timeout applies meanwhile')
    expect(entries).toContain('90 note Widgets can be read again after 1 m 30 s')
    expect(entries.find((entry) => entry.startsWith('35 heartbeat'))).toContain('Widgets could not be read for 35 s')
  })
})

describe('the server answers again after an outage', () => {
  const kinds = ['Deployment', 'ReplicaSet', 'Pod', 'Event']
  const requestOf = (kind: string) => ({
    apiVersion: kind === 'Pod' || kind === 'Event' ? 'v1' : 'apps/v1',
    kind,
    namespace: 'shop',
  })
  const back = (...names: readonly string[]) => names.map((kind) => ({ ...alive, ...requestOf(kind) }))
  const lost = at(
    20,
    kinds.map((kind) => unavailable(kind, 5)),
  )
  const pulls = make.event(web.pod(), {
    container: 'app',
    reason: 'Failed',
    message: 'Failed to pull image "acme/web:v1": failed to resolve reference "acme/web:v1": acme/web:v1: not found',
    count: 2,
    firstTimestamp: iso(6),
    lastTimestamp: iso(21),
  })
  const running = modified(web.pod(podIs.ready(45)), web.deployment(complete()))

  it('and old events that arrive before the pods fail nothing', () => {
    const eventsBack = at(60, added(pulls), back('Event'))
    const restBack = at(61, running, back('Pod', 'Deployment', 'ReplicaSet'))
    expect(run([at(0, web.creating, allSynced), lost, eventsBack, restBack])).toMatchObject({
      outcome: 'ready',
      seconds: 61,
    })
  })

  it('and its heartbeat names only the oldest success', () => {
    const later = at(20, unavailable('Pod', 5), unavailable('Deployment', 15))
    const { entries } = runUntil(55, [at(0, web.creating, allSynced), later])
    expect(entries.find((entry) => entry.includes('heartbeat'))).toMatch(
      /\) · the API server has not answered for 45 s$/,
    )
  })

  it('which is logged once, with the first watch that answers', () => {
    const steps = [
      at(0, web.creating, allSynced),
      lost,
      at(60, back('Event')),
      at(61, running, back('Pod', 'Deployment', 'ReplicaSet')),
    ]
    expect(run(steps).entries.filter((entry) => entry.includes('note'))).toEqual([
      '20 note the API server does not answer (no answer): no timeout applies meanwhile',
      '60 note the API server answers again after 55 s',
    ])
  })

  it('with refused credentials, which are the reason even if other watches failed earlier', () => {
    const refused = { ...failed(401, 'Pod', 'Unauthorized'), final: true } as never
    const { outcome, reason, message } = run([at(0, web.creating, allSynced), lost, at(22, refused)])
    expect({ outcome, reason }).toEqual({ outcome: 'unknown', reason: 'credentials-expired' })
    expect(message).toBe('the API server refuses the credentials: Unauthorized')
  })
})

describe('a target may become ready after the deadline, if the server did not answer before', () => {
  it('and the stall clock stops while the first list of its pods is not complete', () => {
    const steps = [
      at(0, added(web.deployment(complete(1, { availableReplicas: 0 })), web.replicaSet)),
      at(0, synced('Deployment', 'ReplicaSet', 'Event')),
      at(100, added(web.pod()), synced('Pod')),
    ]
    expect(run(steps, { settings: { stallTimeoutMs: 60_000, stallIsLiteral: true } })).toMatchObject({
      outcome: 'stalled',
      seconds: 160,
    })
  })
})

describe('a refusal concerns the request that was refused', () => {
  const pods = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
  const bare = createTarget({ apiVersion: 'v1', kind: 'Pod', name: 'web-1-a' })
  const forbidden = { ...failed(403, undefined, 'pods is forbidden'), ...pods }

  it('and not a narrower one that is allowed', () => {
    const wide = createTarget({ apiVersion: 'v1', kind: 'Service', name: 'all' })
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'all', namespace: 'shop', uid: 's' },
      spec: { clusterIP: 'None', ports: [] },
    }
    const steps = [
      at(0, added(service), synced('Service', 'EndpointSlice')),
      at(
        1,
        { ...synced('Pod')[0], name: 'web-1-a' } as never,
        added(web.pod(podIs.ready(-60), { ownerReferences: [] })),
      ),
      at(2, forbidden),
    ]
    const { outcome, reason } = run(steps, { targets: [bare, wide], live: true })
    expect({ outcome, reason }).toEqual({ outcome: 'ready', reason: '' })
  })

  it('and a refused watch of a namespace is replaced by narrow ones', () => {
    const names = [...Array(9)].map((_, index) => `p${index}`)
    const targets = names.map((name) => createTarget({ apiVersion: 'v1', kind: 'Pod', name }))
    const pod = (name: string) => ({ ...web.pod(podIs.ready(-60)), metadata: { name, namespace: 'shop', uid: name } })
    const steps = [
      at(1, forbidden),
      ...names.map((name) => at(2, added(pod(name)), { type: 'SYNCED', ...pods, name } as const)),
    ]
    expect(run(steps, { targets, live: true })).toMatchObject({ outcome: 'ready', seconds: 2 })
  })
})

it('a pod that died is reported although its kind is unreadable now', () => {
  const dead = web.pod({
    phase: 'Running',
    containerStatuses: [
      { name: 'app', ready: false, restartCount: 0, image: '', imageID: '', state: is.terminated(1, 1) },
    ] as never,
  })
  const { entries } = runUntil(6, [at(0, web.creating, allSynced), at(3, modified(dead)), at(5, failed(0, 'Pod'))])
  expect(entries.some((entry) => entry.includes('exit'))).toBe(true)
})
