import type { ApiResource, WatchRequest } from '../../src/cluster/feed.ts'
import type { KubeObject, ObjectMeta } from '../../src/cluster/objects.ts'
import { hasReadinessCriteria } from '../../src/lifecycle/rules.ts'
import { createSelectionReader, historyUntilAwaited, type Release } from '../../src/plan/helm-release.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { matchSelections, type PlanDefaults, resolveReferences, resolveTargets } from '../../src/plan/resolve.ts'
import { displayName, type ReleaseHistory, type Target } from '../../src/plan/target.ts'
import { rows } from '../kit/rows.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const defaults: PlanDefaults = {
  namespace: 'shop',
  milestones: [],
  milestonesOf: () => ['created', 'ready'],
  isInRelease: hasReadinessCriteria,
}

const widgets = { ...BUILT_IN_RESOURCES[0], group: 'acme.example', kind: 'Widget', plural: 'widgets' } as ApiResource

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
  const resolution = resolveReferences(parseReferences(lines), [...BUILT_IN_RESOURCES, widgets], defaults)
  const listed: WatchRequest[] = []
  const { namesOf, notices } = createSelectionReader(resolution.selections, {
    listObjects: async () => [],
    tryListObjects: async (request) => {
      listed.push(request)
      if (refused.includes('all') || refused.includes(request.kind)) return undefined
      return objects.filter(({ kind }) => kind === request.kind)
    },
  })
  const plan = resolveTargets(resolution, await matchSelections(resolution, namesOf))
  return { ...plan, names: plan.targets.map(displayName), notices: [...plan.notices, ...notices()], listed }
}

/** An object of the data: its kind, its name, what else its metadata has, and its release. */
type Released = Parameters<typeof released>

it.each(
  rows<[string, string, readonly Released[], readonly string[], readonly string[], readonly string[]]>(
    data,
    'releases',
  ),
)('%s', async (_, lines, objects, refused, expected, notices) => {
  const plan = await resolve(
    lines,
    objects.map((each) => released(...each)),
    refused,
  )
  expect([plan.names, plan.notices]).toEqual([expected, notices])
})

it.each(rows<[string, Released]>(data, 'an object does not belong to a Helm release'))(
  'an object %s does not belong to a Helm release',
  async (_, object) => {
    const objects = [released('Service', 'web'), released(...object)]
    expect((await resolve('helm/web', objects)).names).toEqual(['service/web'])
  },
)

it('the options of a Helm release apply to all of its objects and an exclude removes some', async () => {
  const objects = [released('Deployment', 'web'), released('Deployment', 'old'), released('Service', 'web')]
  const { names, targets } = await resolve('helm/web --timeout=20m\n!deployment/old', objects)
  expect(names.toSorted()).toEqual(['deployment/web', 'service/web'])
  expect(targets.map(({ clocks }) => clocks)).toEqual([{ timeoutMs: 1_200_000 }, { timeoutMs: 1_200_000 }])
})

it('two Helm releases on one line are two references', async () => {
  const { names, targets } = await resolve('helm/web helm/api', [released('Deployment', 'web')])
  expect(names).toEqual(['deployment/web', 'helm/api'])
  expect(targets[1]).toMatchObject({ apiVersion: 'v1', kind: 'Helm', namespace: 'shop', selector: expect.any(String) })
})

it('a Helm release is rejected if no kind may be listed', async () => {
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
    const resolution = resolveReferences(parseReferences(lines), BUILT_IN_RESOURCES, defaults)
    const historyOf = (release: Release) => historyUntilAwaited({ ...release, revisions }, awaited)
    return resolveTargets(resolution, ({ kind }) => (kind === 'Service' ? ['web'] : []), historyOf).targets
  }
  const revisionsOf = (...args: Parameters<typeof targetsOf>) =>
    targetsOf(...args)
      .filter(({ kind }) => kind === 'Helm')
      .map(displayName)

  it.each(rows<[string, string, readonly string[], readonly string[]]>(data, 'a pending revision of a Helm release'))(
    '%s',
    (_, lines, statuses, names) => {
      expect(revisionsOf(lines, history(...statuses))).toEqual(names)
    },
  )

  it.each([
    [
      'that was awaited is a target again if another revision has followed',
      ['superseded', 'superseded', 'deployed'],
      ['helm/web.v2'],
    ],
    [
      'that was awaited is a target again if another revision is pending',
      ['superseded', 'deployed', 'pending-upgrade'],
      ['helm/web.v2'],
    ],
    ['that was awaited is no target if no other revision has followed', ['superseded', 'deployed'], []],
  ])('%s', (_, statuses, names) => {
    const before = targetsOf('helm/web', history('deployed', 'pending-upgrade'))
    expect(revisionsOf('helm/web', history(...statuses), before)).toEqual(names)
  })
})

it.each(rows<[string, string]>(data, 'mistakes'))('%s is a mistake', async (line, message) => {
  await expect(resolve(line, [])).rejects.toThrow(message)
})
