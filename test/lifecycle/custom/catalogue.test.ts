import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { findEntries, loadCatalogue } from '../../../src/lifecycle/custom/catalogue.ts'
import { type CatalogueEntry, catalogueFiles } from '../../../src/lifecycle/custom/catalogue-files.ts'
import { commonMilestones } from '../../../src/lifecycle/rule.ts'
import { compileEntry, type HealthCheckEntry, loadCompiler } from '../../../src/plan/health-checks.ts'
import { readData } from '../../kit/rows.ts'
import { judgeSample, type KindCases, type SampleObject, testEntries } from './catalogue-cases.ts'

const entries = (await Promise.all(catalogueFiles.map((file) => file.load()))).flat()

const folder = join(import.meta.dirname, '../../../catalogue')
const kindsIn = (file: string) => load(readFileSync(join(folder, 'tests', file), 'utf8')) as readonly KindCases[]

describe.each(
  readdirSync(join(folder, 'tests')).flatMap((file) =>
    kindsIn(file).map((kind) => [`${kind.kind} of ${kind.apiVersion}`, kind] as const),
  ),
)('%s:', (_, kind) => testEntries(entries, kind))

it('each file of the catalogue has test cases', () => {
  expect(readdirSync(join(folder, 'tests'))).toEqual(readdirSync(folder).filter((name) => name.endsWith('.yaml')))
})

/** An object of an entry's kind: any group and kind of an entry that has `*`. */
function sampleOf({ group, kind }: CatalogueEntry): SampleObject {
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
  entries.map(
    (entry) =>
      [
        `${entry.kind === '*' ? 'all kinds' : entry.kind} of ${entry.group.replace('*.', 'any group below ')}`,
        entry,
      ] as const,
  ),
)('the catalogue entry for %s', (_, entry) => {
  it('contains only expressions that compile', () => {
    expect(judgeSample([entry], sampleOf(entry))).toBeDefined()
  })

  if (entry.cause?.every((each) => /messageOf\(|c\.type ==/.test(each)))
    it('quotes only conditions that its cause names', async () => {
      const conditions = [{ type: 'Weather', status: 'Unknown', reason: 'Rain', message: 'it rains' }]
      const check = compileEntry(entry, await loadCompiler())
      const object = { ...sampleOf(entry), metadata: { name: 'sample' }, status: { conditions } }
      expect(check.cause.flatMap((cause) => cause(object) ?? [])).toEqual([])
    })

  if (!entry.ignoresGeneration)
    it('returns progressing for a status of an older generation', () => {
      const status = { ...readyStatus, observedGeneration: 1 }
      expect(judgeSample([entry], { ...sampleOf(entry), status }).verdict).toBe('progressing')
    })

  // Nothing is written to the status of these kinds until another object uses them, if ever.
  const needsStatus = entry.current !== 'true'

  it(`returns ${needsStatus ? 'progressing' : 'ready'} for an object without a status`, () => {
    const verdicts = [{}, { status: {} }, { status: { observedGeneration: 2 } }].map(
      (rest) => judgeSample([entry], { ...sampleOf(entry), ...rest }).verdict,
    )
    expect(new Set(verdicts)).toEqual(new Set([needsStatus ? 'progressing' : 'ready']))
  })
})

it('each catalogue entry links to its documentation', () => {
  expect(entries.filter(({ documentation = '' }) => !/^https:\/\/[\w.-]+\/\S+$/.test(documentation))).toEqual([])
})

it('the milestones of a catalogue entry have distinct names that are not common to all kinds', () => {
  const namesOf = ({ milestones = [] }: CatalogueEntry) => milestones.map(({ name }) => name)
  const isWrong = (name: string) => !/^[a-z]+$/.test(name) || commonMilestones.some((common) => common === name)
  expect(entries.flatMap(namesOf).filter(isWrong)).toEqual([])
  expect(entries.filter((entry) => new Set(namesOf(entry)).size !== namesOf(entry).length)).toEqual([])
})

it('each kind has only one catalogue entry', () => {
  const kinds = entries.map(({ group, kind }) => `${group} ${kind}`)
  expect(kinds.filter((kind, index) => kinds.indexOf(kind) !== index)).toEqual([])
})

it('each group of the catalogue is in one file and has a valid name', () => {
  const names = catalogueFiles.flatMap(({ groups }) => groups)
  expect(new Set(names).size).toBe(names.length)
  expect(names.filter((name) => !/^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(name))).toEqual([])
})

it('a catalogue entry applies to its kind in any version and to no other kind', async () => {
  const kinds = [
    { apiVersion: 'cert-manager.io/v1', kind: 'Certificate' },
    { apiVersion: 'cert-manager.io/v1alpha2', kind: 'Certificate' },
    { apiVersion: 'cert-manager.io/v1', kind: 'Unknown' },
    { apiVersion: 'certificates.k8s.io/v1', kind: 'Certificate' },
    { apiVersion: 'v1', kind: 'Certificate' },
  ]
  const found = await Promise.all(kinds.map(async (kind) => (await findEntries([kind])).length))
  expect(found).toEqual([1, 1, 0, 0, 0])
  const loaded = await loadCatalogue(kinds.slice(0, 2))
  expect(loaded.filter(({ kind }) => kind === 'Certificate')).toHaveLength(1)
})

it('the catalogue entry of a kind is loaded with the entries of the kinds that it owns', async () => {
  const loaded = await loadCatalogue([{ apiVersion: 'cert-manager.io/v1', kind: 'Certificate' }])
  expect(loaded.map(({ kind }) => kind)).toEqual(['Certificate', 'CertificateRequest', 'Order', 'Challenge'])
})

const { entry, cases } = readData(join(import.meta.dirname, 'catalogue.yaml')) as {
  readonly entry: HealthCheckEntry
  readonly cases: KindCases['cases']
}

describe('a catalogue entry that uses every field:', () => {
  testEntries([entry], { apiVersion: 'example.com/v1', kind: 'Widget', cases })
})
