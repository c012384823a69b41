import { gateHint, type HintDetails, hintFor } from '../../src/diagnosis/hints.ts'
import { deniedVerdict, type Outcome, type Verdict, verdictOf } from '../../src/gate/run-record.ts'
import { jobRule } from '../../src/lifecycle/workloads/job.ts'
import type { Target, WaitFor } from '../../src/plan/target.ts'
import { type ReasonCode, reasonCodes } from '../../src/reasons/reasons.ts'
import { createTarget } from '../kit/gate.ts'
import { make } from '../kit/objects.ts'
import { createProblem } from '../kit/problems.ts'
import { titled } from '../kit/rows.ts'
import { toSubject } from '../kit/subject.ts'
import { createRecord, createTargetRecord } from '../report/builders.ts'

it.each(reasonCodes)('the hint for %s consists of sentences, even without facts', (reason) => {
  const words = hintFor(createTarget(), reason)
  expect(words).toMatch(/^[A-Z].*\.$/)
  const unquoted = words.replaceAll('`NaN`', '')
  expect(unquoted).not.toMatch(/undefined|NaN| {2}|\.\./)
})

it('names from a hostile cluster are quoted for the shell', () => {
  const words = hintFor(createTarget({ name: "web'; rm -rf `~`" }), 'paused')
  expect(words).toBe("Resume it: `kubectl rollout resume 'deployment/web'\\''; rm -rf ~' -n shop`.")
})

it('the hint for an old pod that blocks the update is to delete it', () => {
  const detail = { image: 'acme/db:v9', answer: 'not found' }
  const problem = createProblem('image-not-found', detail, {
    subject: toSubject('pod/db-0'),
    oldRevision: 'blocks-update',
  })
  expect(hintFor(createTarget(), 'image-not-found', { problem })).toBe(
    'Delete the pod of the older revision, because its controller does not replace it: `kubectl delete pod/db-0 -n shop`.',
  )
})

describe('the hint for a Job that is not found', () => {
  const job = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
  it.each([
    [
      'Completed',
      /^A Job of this name ended before the gate began, and was removed\. Raise its ttlSecondsAfterFinished/,
    ],
    ['BackoffLimitExceeded', /^A Job of this name ended before the gate began/],
    ['SuccessfulCreate', /^Was it applied/],
    ['missing', /^Was it applied/],
  ])('whose last event is %s', (lastEvent, words) => {
    const object = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'migrate' } }
    const events = lastEvent === 'missing' ? [] : [make.event(object, { reason: lastEvent })]
    const hasEnded = jobRule.lastState?.(object, events) !== undefined
    expect(hintFor(job, 'not-found', { hasEnded })).toMatch(words)
  })
})

describe('the hint for a target that is not found', () => {
  const absent = (overrides: Partial<Target>, details: HintDetails = {}) =>
    hintFor(createTarget(overrides), 'not-found', details)

  it('lists existing objects by a command that can be pasted into a shell', () => {
    expect(absent({})).toContain('`kubectl get deployment -n shop` lists what is there.')
    expect(absent({ kind: 'StatefulSet', name: '', selector: 'app=web' })).toBe(
      'Correct the selector, or the labels of what was applied. `kubectl get statefulset --show-labels -n shop` lists what is there.',
    )
    expect(absent({ kind: 'StatefulSet', name: '', selector: '' })).toMatch(
      /^Was any StatefulSet applied, and in namespace shop\? `kubectl get statefulset -n shop` lists what is there\./,
    )
  })

  it.each([
    ['k8s/db/sts.yaml', 'Was the folder k8s/db applied? kubectl apply -f reads subfolders only with --recursive.'],
    ['k8s/sts.yaml', undefined],
    ['resources', undefined],
    ['/tmp/out/rendered.yaml', undefined],
  ])('asks whether a subfolder was applied, if its source is in one: %s', (file, sentence) => {
    const words = absent({ source: { file, line: 1 } })
    if (sentence === undefined) expect(words).not.toContain('folder')
    else expect(words).toContain(sentence)
  })

  it('explains how to set another namespace, but not for a cluster-wide object', () => {
    expect(absent({})).toMatch(/For another namespace, set the input `namespace`, or write -n after the reference\.$/)
    const cluster = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'disk' } as const
    const { namespace: _, ...target } = createTarget(cluster)
    expect(hintFor(target, 'not-found')).not.toContain('namespace')
  })

  it.each([
    ['missing', 'was'],
    ['terminating', 'is being'],
  ] as const)('names a namespace that is %s as the cause of the reason deleted', (namespaceState, verb) => {
    expect(hintFor(createTarget({ namespace: 'shop' }), 'deleted', { namespaceState })).toBe(
      `Namespace shop ${verb} deleted, with everything in it. Find out who deletes it, create it again once it is gone, then apply deployment/web again.`,
    )
  })

  it('names the namespace of an object that is being deleted, if the namespace is being deleted too', () => {
    expect(hintFor(createTarget({ namespace: 'shop' }), 'terminating', { namespaceState: 'terminating' })).toBe(
      'Wait until deployment/web is gone, then apply it again. Its namespace shop is being deleted: nothing can be applied there until that is gone.',
    )
  })

  it.each(['not-found', 'change-not-seen'] as const)(
    'names a namespace that does not exist as the cause of the reason %s',
    (reason) => {
      expect(hintFor(createTarget({ namespace: 'shpo' }), reason, { namespaceState: 'missing' })).toBe(
        'Namespace shpo does not exist. Create it, or correct the input `namespace` or -n. `kubectl get namespaces` lists what is there.',
      )
    },
  )

  it('describes the objects of a selector', () => {
    const target = createTarget({ name: '', selector: 'app in (a, b)' })
    expect(hintFor(target, 'no-progress')).toContain("`kubectl describe deployment -l 'app in (a, b)' -n shop`")
  })
})

describe('the hint for a --for with an unknown condition or field', () => {
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    status: {
      phase: 'x',
      conditions: [
        { type: 'Available', status: 'True' },
        { type: 'Progressing', status: 'True' },
      ],
    },
  }
  const hintOf = (waitFor: WaitFor) => hintFor(createTarget({ waitFor }), 'no-progress', { object })

  it.each(['no-progress', 'still-running'] as const)(
    'names what there is and what may have been meant: %s',
    (reason) => {
      const target = createTarget({ waitFor: { type: 'condition', condition: 'Availble', status: 'True' } })
      expect(hintFor(target, reason, { object })).toBe(
        'Correct --for: deployment/web has no condition Availble, but Available, Progressing. Did you mean Available?',
      )
    },
  )

  it('compares the path of a field', () => {
    expect(hintOf({ type: 'jsonpath', path: '{.status.phse}' })).toBe(
      'Correct --for: deployment/web has no {.status.phse}, but .status has phase, conditions. Did you mean phase?',
    )
  })

  it('has no such hint if the condition or field exists', () => {
    expect(hintOf({ type: 'condition', condition: 'available', status: 'False' })).toMatch(/^See its events/)
  })
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
  )('names the user and the rights: %s', (_, [words, pattern]) => {
    expect(denied('misconfigured', false, `x is forbidden: User "ci" ${words}`)).toMatch(pattern)
  })

  it('warns against rolling back a rollout of unknown state', () => {
    expect(denied('unknown', true, 'no')).toMatch(/look before you roll back\.$/)
    for (const reason of ['api-unreachable', 'credentials-expired'] as const)
      expect(hintOf({ outcome: 'unknown', reason, message: '' })).toMatch(/look before you roll back\.$/)
  })

  it('explains that a rollout continues when its job is cancelled', () => {
    expect(hintOf(verdictOf('cancelled', 'cancelled', {}))).toMatch(/the rollout itself continues/)
  })

  it('is absent if a target has the outcome of the gate', () => {
    const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const
    expect(gateHint(createRecord({ verdict, targets: [createTargetRecord(verdict)] }))).toBeUndefined()
  })
})

describe('a hint for the command line', () => {
  test.each<[reason: ReasonCode, flag: string]>([
    ['no-progress', 'raise --stall-timeout.'],
    ['still-running', 'raise --timeout.'],
    ['change-not-seen', 'raise --await-change if'],
    ['change-not-seen', 'name its manifests with -f'],
    ['not-changed', 'set --await-change.'],
    ['not-found', 'write -n after the reference'],
  ])('of %s names a flag: %s', (reason, flag) => {
    const written = hintFor(createTarget({ namespace: 'shop' }), reason, { usesFlags: true })
    expect(written).toContain(flag)
    expect(written).not.toContain('input')
  })

  test('of a target that was open when another one failed names --fail-fast', () => {
    expect(hintFor(createTarget(), '', { usesFlags: true, endedBy: 'deployment/web failed' })).toContain(
      '`--fail-fast=false`',
    )
  })

  test('of a missing namespace names -n', () => {
    const details = { usesFlags: true, namespaceState: 'missing' } as const
    expect(hintFor(createTarget({ namespace: 'shop' }), 'not-found', details)).toContain('or correct -n.')
  })
})
