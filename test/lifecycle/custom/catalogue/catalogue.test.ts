import type { CatalogueEntry, CatalogueGroup } from '../../../../src/lifecycle/custom/catalogue/entry.ts'
import {
  findEntries,
  catalogueGroups as groups,
  loadCatalogue,
} from '../../../../src/lifecycle/custom/catalogue/index.ts'
import { commonMilestones } from '../../../../src/lifecycle/rule.ts'
import { judgeSample, type SampleObject, testEntries } from './cases.ts'

/** An object of an entry's kind: any group and kind of an entry that has `*`. */
function sampleOf({ group }: CatalogueGroup, { kind }: CatalogueEntry): SampleObject {
  const metadata = { generation: 2 }
  return {
    apiVersion: `${group.replace('*', 'any')}/v1`,
    kind: kind === '*' ? 'Widget' : kind,
    metadata,
    spec: {},
  }
}

/** Fields with which most kinds are ready. */
const conditions = ['Ready', 'Available', 'Synced', 'Accepted', 'Programmed', 'Succeeded', 'Complete', 'Established']
const readyStatus = {
  phase: 'Ready',
  state: 'ready',
  health: { status: 'Healthy' },
  conditions: conditions.map((type) => ({ type, status: 'True', reason: type, message: '' })),
}

describe.each(
  groups.flatMap((group) => group.entries.map((entry) => [`${group.group} ${entry.kind}`, group, entry] as const)),
)('the entry for %s', (_, group, entry) => {
  it('has expressions that compile', async () => {
    await expect(judgeSample(group, sampleOf(group, entry))).resolves.toBeDefined()
  })

  it('links its documentation', () => {
    expect(entry.documentation).toMatch(/^https:\/\/[\w.-]+\/\S+$/)
  })

  it('has milestones of its own with distinct names', () => {
    const names = (entry.milestones ?? []).map(({ name }) => name)
    expect(
      names.filter((name) => !/^[a-z]+$/.test(name) || commonMilestones.some((common) => common === name)),
    ).toEqual([])
    expect(new Set(names).size).toBe(names.length)
  })

  it('is the only one for its kind', () => {
    expect(group.entries.filter(({ kind }) => kind === entry.kind)).toHaveLength(1)
  })

  if (!entry.ignoresGeneration)
    it('does not find an object ready whose status is of an older generation', async () => {
      const status = { ...readyStatus, observedGeneration: 1 }
      expect((await judgeSample(group, { ...sampleOf(group, entry), status })).verdict).toBe('progressing')
    })

  // Nothing is written to the status of these kinds until another object uses them, if ever.
  const needsStatus = entry.current !== 'true'

  it.each([
    ['without a status', {}],
    ['with an empty status', { status: {} }],
    ['with a status that only names its generation', { status: { observedGeneration: 2 } }],
  ])('finds an object ready %s only if the kind needs none', async (_, rest) => {
    const { verdict } = await judgeSample(group, { ...sampleOf(group, entry), ...rest })
    expect(verdict).toBe(needsStatus ? 'progressing' : 'ready')
  })
})

it('a group has one entry in the catalogue, and its name is a group', () => {
  const names = groups.map(({ group }) => group)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !/^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(name))).toEqual([])
})

it('an entry applies to its kind in any version, and to no other kind', async () => {
  const kinds = [
    { apiVersion: 'cert-manager.io/v1', kind: 'Certificate' },
    { apiVersion: 'cert-manager.io/v1alpha2', kind: 'Certificate' },
    { apiVersion: 'cert-manager.io/v1', kind: 'Unknown' },
    { apiVersion: 'certificates.k8s.io/v1', kind: 'Certificate' },
    { apiVersion: 'v1', kind: 'Certificate' },
  ]
  const found = kinds.map((kind) => findEntries([kind]).length)
  expect(found).toEqual([1, 1, 0, 0, 0])
  const loaded = await loadCatalogue(kinds.slice(0, 2))
  expect(loaded.filter(({ kind }) => kind === 'Certificate')).toHaveLength(1)
})

it('the kinds that a kind owns are loaded with it', async () => {
  const loaded = await loadCatalogue([{ apiVersion: 'cert-manager.io/v1', kind: 'Certificate' }])
  expect(loaded.map(({ kind }) => kind)).toEqual(['Certificate', 'CertificateRequest', 'Order', 'Challenge'])
})

/** A group that uses every field of an entry. */
const example: CatalogueGroup = {
  group: 'example.com',
  entries: [
    {
      kind: 'Widget',
      documentation: 'https://example.com/widgets',
      current: `status.phase == 'Up'`,
      failed: `status.phase == 'Broken'`,
      inProgress: `has(status.isMoving) && status.isMoving`,
      suspended: `(has(spec.paused) && spec.paused) || status.phase == 'Waiting'`,
      resume: 'widgets promote {name} -n {namespace}',
      stallHold: `status.phase == 'Cooling'`,
      cause: ['status.message', 'status.parts.map(p, p.message)'],
      milestones: [
        { name: 'provisioned', done: 'has(status.id)' },
        { name: 'bound', done: 'has(status.node)' },
      ],
    },
  ],
}

const widget = (status?: object, rest: Partial<SampleObject> = {}): SampleObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  spec: {},
  ...(status === undefined ? {} : { status }),
  ...rest,
})

testEntries(example, [
  ['a Widget whose `current` holds is ready', widget({ phase: 'Up' }), { verdict: 'ready' }],
  ['a Widget for which nothing holds progresses', widget({ phase: 'Odd' }), { verdict: 'progressing', isHeld: false }],
  [
    'a Widget without a status progresses: its controller has not written one',
    widget(),
    { verdict: 'progressing', mentions: 'has no status yet', reached: [] },
  ],
  [
    'a Widget whose `failed` holds has failed, and its first cause is quoted',
    widget({ phase: 'Broken', message: ' ', parts: [{ message: '' }, { message: 'no disk' }, { message: 'no fan' }] }),
    { verdict: 'failed', mentions: 'no disk' },
  ],
  [
    'a failed Widget without a cause quotes its status',
    widget({
      phase: 'Broken',
      conditions: [{ type: 'Stalled', status: 'True', reason: 'NoDisk', message: 'no disk' }],
    }),
    { verdict: 'failed', mentions: 'Stalled is True (NoDisk): no disk' },
  ],
  ['`inProgress` decides before `failed`', widget({ phase: 'Broken', isMoving: true }), { verdict: 'progressing' }],
  [
    'a Widget that waits for a person is paused, and the hint has the command that resumes it',
    widget({ phase: 'Waiting', message: 'step 2 waits' }),
    { verdict: 'suspended', mentions: 'step 2 waits', hint: 'Resume it: `widgets promote sample -n shop`.' },
  ],
  [
    'a hostile name is not written into a command',
    widget({ phase: 'Waiting' }, { metadata: { name: '$(id)' } }),
    { verdict: 'suspended', hint: "'widget/$(id)'" },
  ],
  [
    'a Widget that its spec pauses is paused, although its status is of the older generation',
    widget({ phase: 'Up', observedGeneration: 1 }, { spec: { paused: true }, metadata: { generation: 2 } }),
    { verdict: 'suspended', mentions: 'spec.paused is true' },
  ],
  [
    'a Widget whose older status waits for a person progresses',
    widget({ phase: 'Waiting', observedGeneration: 1 }, { metadata: { generation: 2 } }),
    { verdict: 'progressing' },
  ],
  [
    'a status without any field that `current` or `failed` reads is judged by the general conventions',
    widget({ id: 'w-1', conditions: [{ type: 'Ready', status: 'True' }] }),
    { verdict: 'ready', reached: ['observed', 'provisioned', 'ready'] },
  ],
  [
    'by the general conventions, such a status may be that of a failure',
    widget({ conditions: [{ type: 'Stalled', status: 'True', message: 'no disk' }] }),
    { verdict: 'failed', mentions: 'no disk' },
  ],
  ['a Widget whose status has no signal either progresses', widget({ owner: 'me' }), { verdict: 'progressing' }],
  ['`stallHold` stops the stall clock', widget({ phase: 'Cooling' }), { verdict: 'progressing', isHeld: true }],
  [
    'stages are reached between `observed` and `ready`',
    widget({ phase: 'Odd', id: 'w-1' }),
    { verdict: 'progressing', reached: ['observed', 'provisioned'] },
  ],
  [
    'a ready Widget has skipped the stages that it did not reach',
    widget({ phase: 'Up', id: 'w-1' }),
    { verdict: 'ready', reached: ['observed', 'provisioned', 'ready'] },
  ],
])
