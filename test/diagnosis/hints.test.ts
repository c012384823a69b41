import { gateHint, targetHint } from '../../src/diagnosis/hints.ts'
import { createVerdict, deniedVerdict, type Outcome, type Verdict } from '../../src/gate/outcome.ts'
import { lastStateOfDeleted } from '../../src/lifecycle/rules.ts'
import { reasonCodes } from '../../src/reasons/reasons.ts'
import { createTarget } from '../kit/gate.ts'
import { make } from '../kit/objects.ts'
import { titled } from '../kit/rows.ts'
import { createRecord, createTargetRecord } from '../report/builders.ts'

it.each(reasonCodes)('the hint for %s consists of complete sentences if no facts are known', (reason) => {
  const words = targetHint(createTarget(), reason)
  expect(words).toMatch(/^[A-Z].*\.$/)
  const unquoted = words.replaceAll('`NaN`', '')
  expect(unquoted).not.toMatch(/undefined|NaN| {2}|\.\./)
})

it.each([
  ['with a last event Completed has ended', 'Completed', true],
  ['with a last event BackoffLimitExceeded has ended', 'BackoffLimitExceeded', true],
  ['with a last event SuccessfulCreate has not ended', 'SuccessfulCreate', false],
  ['without an event has not ended', 'missing', false],
])('a missing Job %s', (_, lastEvent, hasEnded) => {
  const object = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate' } }
  const events = lastEvent === 'missing' ? [] : [make.event(object, { reason: lastEvent })]
  expect(lastStateOfDeleted(object, events) !== undefined).toBe(hasEnded)
})

it('the hint for a missing cluster-scoped object does not mention a namespace', () => {
  const { namespace: _, ...target } = createTarget({ apiVersion: 'v1', kind: 'PersistentVolume', name: 'disk' })
  expect(targetHint(target, 'not-found')).not.toContain('namespace')
})

it('the hint for a selector contains the command that describes its objects', () => {
  const target = createTarget({ name: '', selector: 'app in (a, b)' })
  expect(targetHint(target, 'no-progress')).toContain("`kubectl describe deployment -l 'app in (a, b)' -n shop`")
})

describe('the hint for a gate without access', () => {
  const hintOf = (verdict: Verdict) => gateHint(createRecord({ verdict, targets: [createTargetRecord()] }))
  const denied = (outcome: Outcome, wasReadable: boolean, message: string) =>
    hintOf(deniedVerdict(outcome, { name: 'deployment/web', wasReadable, message }))

  it.each(
    titled<[string, RegExp]>(
      [
        [
          'cannot list resource "configmaps" in API group "" in the namespace "shop"',
          /^Grant user ci what is missing in namespace shop: `kubectl create role rollout-gate-reader --verb=get,list,watch --resource=configmaps -n shop`, then `kubectl create rolebinding rollout-gate-reader --role=rollout-gate-reader --user=ci -n shop`\./,
        ],
        [
          'cannot list resource "secrets" in API group "" in the namespace "shop"',
          /-n shop`\. Or exclude them: a line `!secrets --all`\.$/,
        ],
        [
          'cannot watch resource "deployments" in API group "apps" in the namespace "shop": requires one of [x] permission(s).',
          / --resource=deployments\.apps -n shop`/,
        ],
        [
          'cannot list resource "nodes" in API group "" at the cluster scope',
          /in the whole cluster: `kubectl create clusterrole rollout-gate-reader .* --resource=nodes`, then `kubectl create clusterrolebinding rollout-gate-reader --clusterrole=rollout-gate-reader --user=ci`\./,
        ],
        ['may not', /^Give the kubeconfig’s user get, list and watch on what is gated.* to apply\.$/],
      ],
      ([words]) => words,
    ),
  )('has a command that grants access: %s', (_, [words, pattern]) => {
    expect(denied('misconfigured', false, `x is forbidden: User "ci" ${words}`)).toMatch(pattern)
  })

  it('warns against a rollback of a rollout in an unknown state', () => {
    expect(denied('unknown', true, 'no')).toMatch(/look before you roll back\.$/)
    for (const reason of ['api-unreachable', 'credentials-expired'] as const)
      expect(hintOf({ outcome: 'unknown', reason, message: '' })).toMatch(/look before you roll back\.$/)
  })

  it('explains that the rollout continues after its job is cancelled', () => {
    expect(hintOf(createVerdict('cancelled', 'cancelled', {}))).toMatch(/the rollout itself continues/)
  })

  it('is absent if a target has the outcome of the gate', () => {
    const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const
    expect(gateHint(createRecord({ verdict, targets: [createTargetRecord(verdict)] }))).toBeUndefined()
  })
})

test('the hint for a target that was still open after a failure mentions --fail-fast on the command line', () => {
  expect(targetHint(createTarget(), '', { usesFlags: true, isLeftOpen: true })).toContain('`--fail-fast=false`')
})
