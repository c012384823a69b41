import type { WatchRequest } from '../../src/cluster/feed.ts'
import type { KubeObject, ObjectMeta } from '../../src/cluster/objects.ts'
import { needsMoreThanToExist } from '../../src/lifecycle/rules.ts'
import { historyUntil, type Release, selectionReader } from '../../src/plan/helm-release.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { resolveReferences } from '../../src/plan/resolve.ts'
import { matchSelections, resolveTargets } from '../../src/plan/resolve-targets.ts'
import { displayName, type ReleaseHistory, type Target } from '../../src/plan/target.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'

const widgets = {
  group: 'acme.example',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  status: true,
}

/** An object as Helm creates it: `setMetadataVisitor`, pkg/action/validate.go of Helm. */
function released(kind: string, name: string, metadata: Partial<ObjectMeta> = {}, release = 'web'): KubeObject {
  const { annotations, ...rest } = metadata
  return {
    apiVersion: 'v1',
    kind,
    metadata: {
      name,
      namespace: 'shop',
      annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': 'shop', ...annotations },
      ...rest,
    },
  }
}

/**
 * Resolves lines in a cluster with these objects.
 * @param refused the kinds that may not be listed
 */
async function resolve(lines: string, objects: readonly KubeObject[], refused: readonly string[] = []) {
  const defaults = {
    namespace: 'shop',
    milestones: [],
    milestonesOf: () => ['created', 'ready'],
    isInRelease: needsMoreThanToExist,
  }
  const resolution = resolveReferences(parseReferences(lines), [...BUILT_IN_RESOURCES, widgets], defaults)
  const listed: WatchRequest[] = []
  const { namesOf, notices } = selectionReader(resolution.selections, {
    select: async () => [],
    selectPresent: async (request) => {
      listed.push(request)
      if (refused.includes('all') || refused.includes(request.kind)) return undefined
      return objects.filter(({ kind }) => kind === request.kind)
    },
  })
  const plan = resolveTargets(resolution, await matchSelections(resolution, namesOf))
  return { ...plan, names: plan.targets.map(displayName), notices: [...plan.notices, ...notices()], listed }
}

it('a Helm release is its live objects of all kinds that are judged', async () => {
  const { names, notices } = await resolve('helm/web', [
    released('Deployment', 'web'),
    released('Deployment', 'worker'),
    released('Service', 'web'),
    released('Widget', 'w'),
    released('ConfigMap', 'settings'),
  ])
  expect(names.toSorted()).toEqual(['deployment/web', 'deployment/worker', 'service/web', 'widget/w'])
  expect(notices).toEqual([])
})

it.each([
  ['of another release', released('Deployment', 'api', {}, 'api')],
  [
    'of a release of the same name in another namespace',
    released('Deployment', 'api', { annotations: { 'meta.helm.sh/release-namespace': 'other' } }),
  ],
  [
    'that a controller owns, which copied the annotations',
    released('ReplicaSet', 'web-5d', {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u', controller: true }],
    }),
  ],
  ['that an upgrade has removed', released('Deployment', 'old', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
  ['that is a hook', released('Job', 'migrate', { annotations: { 'helm.sh/hook': 'pre-upgrade' } })],
])('an object %s does not belong to a Helm release', async (_, object) => {
  expect((await resolve('helm/web', [released('Service', 'web'), object])).names).toEqual(['service/web'])
})

it('with --for=delete, the objects that are being deleted already belong to a release', async () => {
  const going = released('Deployment', 'web', { deletionTimestamp: '2026-01-01T00:00:00Z' })
  expect((await resolve('helm/web --for=delete', [going])).names).toEqual(['deployment/web'])
})

it('the options of a Helm release apply to all of its objects, and excludes to some', async () => {
  const objects = [released('Deployment', 'web'), released('Deployment', 'old'), released('Service', 'web')]
  const { names, targets } = await resolve('helm/web --timeout=20m\n!deployment/old', objects)
  expect(names.toSorted()).toEqual(['deployment/web', 'service/web'])
  expect(targets.map(({ clocks }) => clocks)).toEqual([{ timeoutMs: 1_200_000 }, { timeoutMs: 1_200_000 }])
})

it('a Helm release is excluded with all of its objects', async () => {
  const objects = [released('Deployment', 'web'), released('Deployment', 'api', {}, 'api')]
  expect((await resolve('helm/web\nhelm/api\n!helm/api', objects)).names).toEqual(['deployment/web'])
})

it('two Helm releases on one line are two references', async () => {
  const { names, targets } = await resolve('helm/web helm/api', [released('Deployment', 'web')])
  expect(names).toEqual(['deployment/web', 'helm/api'])
  expect(targets[1]).toMatchObject({ apiVersion: 'v1', kind: 'Helm', namespace: 'shop', selector: expect.any(String) })
})

it('a Helm release without objects is one target, whatever its kinds', async () => {
  expect((await resolve('helm/web', [])).names).toEqual(['helm/web'])
})

it('kinds that may not be listed are skipped and reported', async () => {
  const { names, notices } = await resolve('helm/web', [released('Deployment', 'web')], ['Widget', 'Job'])
  expect(names).toEqual(['deployment/web'])
  expect(notices).toEqual([
    'helm/web -n shop: objects of these kinds are not gated, because they may not be listed: Job, Widget.',
  ])
})

it('a Helm release of which nothing may be listed is a mistake', async () => {
  await expect(resolve('helm/web', [], ['all'])).rejects.toMatchObject({ reason: 'forbidden' })
})

it('Secrets are not listed for a Helm release', async () => {
  const { listed } = await resolve('helm/web', [released('Deployment', 'web')])
  expect(listed.map(({ kind }) => kind)).toContain('Deployment')
  expect(listed.map(({ kind }) => kind)).not.toContain('Secret')
  expect(listed.every(({ labelSelector }) => labelSelector === 'app.kubernetes.io/managed-by=Helm')).toBe(true)
})

describe('a pending revision of a Helm release', () => {
  const history = (...statuses: readonly string[]) =>
    statuses.map((status, index) => ({ number: index + 1, status, createdAt: '2026-01-01T00:00:00Z' }))

  const targetsOf = (lines: string, revisions: ReleaseHistory['revisions'], awaited: readonly Target[] = []) => {
    const defaults = {
      namespace: 'shop',
      milestones: [],
      milestonesOf: () => ['created', 'ready'],
      isInRelease: needsMoreThanToExist,
    }
    const resolution = resolveReferences(parseReferences(lines), BUILT_IN_RESOURCES, defaults)
    const historyOf = (release: Release) => historyUntil({ ...release, revisions }, awaited)
    return resolveTargets(resolution, ({ kind }) => (kind === 'Service' ? ['web'] : []), historyOf).targets
  }
  const revisionsOf = (...args: Parameters<typeof targetsOf>) =>
    targetsOf(...args)
      .filter(({ kind }) => kind === 'Helm')
      .map(displayName)

  it.each([
    ['is a target', 'helm/web', history('deployed', 'pending-upgrade'), ['helm/web.v2']],
    ['of the first install is a target', 'helm/web', history('pending-install'), ['helm/web.v1']],
    ['of a rollback is a target', 'helm/web', history('superseded', 'failed', 'pending-rollback'), ['helm/web.v3']],
    ['that another one followed is no target', 'helm/web', history('pending-upgrade', 'deployed'), []],
    ['that Helm has finished is no target', 'helm/web', history('superseded', 'deployed'), []],
    ['is one target for two lines', 'helm/web\nhelm/web -n shop', history('pending-upgrade'), ['helm/web.v1']],
    ['is a target for each release', 'helm/web helm/api', history('pending-upgrade'), ['helm/web.v1', 'helm/api.v1']],
    ['of an excluded release is no target', 'helm/web\n!helm/web\npod/x', history('pending-upgrade'), []],
    ['is no target with --for=delete', 'helm/web --for=delete', history('pending-upgrade'), []],
  ])('%s', (_, lines, revisions, names) => {
    expect(revisionsOf(lines, revisions)).toEqual(names)
  })

  it.each([
    ['has followed', ['superseded', 'superseded', 'deployed'], ['helm/web.v2']],
    ['is pending', ['superseded', 'deployed', 'pending-upgrade'], ['helm/web.v2']],
    ['has not followed', ['superseded', 'deployed'], []],
  ])('that was awaited is judged again if another revision %s', (_, statuses, names) => {
    const before = targetsOf('helm/web', history('deployed', 'pending-upgrade'))
    expect(revisionsOf('helm/web', history(...statuses), before)).toEqual(names)
  })
})

it.each([
  ['helm/web --revision=7', 'A Helm release takes no --revision'],
  ['helm -l app=web', 'A Helm release is named: write helm/NAME, without -l and --all.'],
  ['helm/Web', '"Web" cannot be the name of a Helm release'],
  ['helm/web --milestone-timeouts=redy=2m', 'No kind has a milestone "redy". Did you mean ready?'],
])('%s is a mistake', async (line, message) => {
  await expect(resolve(line, [])).rejects.toThrow(message)
})
