import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Judged, judge, type VerdictCase } from './case.ts'

/**
 * Cases from the tests of other tools: objects and whether they are ready. They belong to those projects and are not part
 * of this one; without the file these tests are skipped.
 */
const file = join(import.meta.dirname, '../../../shared/verdicts/cases.jsonl')
const coreGroups =
  /^(?:v1$|apps\/|batch\/|autoscaling\/|policy\/v1|extensions\/|networking\.k8s\.io\/|apiextensions\.k8s\.io\/|apiregistration\.k8s\.io\/|storage\.k8s\.io\/|rbac\.)/

type JudgedCase = VerdictCase & Judged & { readonly isCore: boolean }

function read(): Promise<readonly JudgedCase[]> {
  const cases = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as VerdictCase)
    .filter(({ tier }) => tier !== 'no-verdict')
  return Promise.all(
    cases.map(async (each) => ({ ...each, ...(await judge(each)), isCore: coreGroups.test(each.apiVersion) })),
  )
}

function isRight({ got, expected, alsoAcceptable = [], tier, verdicts = {} }: JudgedCase): boolean {
  return (
    got === expected || alsoAcceptable.includes(got) || (tier === 'disputed' && Object.values(verdicts).includes(got))
  )
}

/** `progressing` is right too if the only sign of failure is a condition that is False, which may change. */
function isRightOrProgressing(each: JudgedCase): boolean {
  return (
    isRight(each) || (each.expected === 'failed' && each.got === 'progressing' && each.reason === 'condition-false')
  )
}

/** A wrong verdict that no other tool gives. */
function isFalse(verdict: 'ready' | 'failed') {
  return (each: JudgedCase) =>
    !isRight(each) && each.got === verdict && !Object.values(each.verdicts ?? {}).includes(verdict)
}

const share = (cases: readonly JudgedCase[], test: (each: JudgedCase) => boolean) =>
  cases.length === 0 ? 1 : cases.filter(test).length / cases.length
const percent = (value: number) => `${(value * 100).toFixed(1)} %`
const names = (cases: readonly JudgedCase[]) => cases.map(({ id, expected, got }) => `${id}: ${expected}, got ${got}`)

if (existsSync(file)) {
  describe('compared with the verdicts of public tools', () => {
    let judged: readonly JudgedCase[] = []
    let agreed: readonly JudgedCase[] = []
    const of = (tier: VerdictCase['tier'], isCore: boolean) =>
      judged.filter((each) => each.tier === tier && each.isCore === isCore)

    beforeAll(async () => {
      judged = await read()
      agreed = judged.filter(({ tier }) => tier === 'consensus' || tier === 'majority')
      const tiers = ['consensus', 'majority', 'disputed', 'single'] as const
      const rows = tiers.flatMap((tier) =>
        [true, false].map((isCore) => {
          const cases = of(tier, isCore)
          const scores = `${percent(share(cases, isRight))}, with progressing ${percent(share(cases, isRightOrProgressing))}`
          const wrong = `${cases.filter(isFalse('ready')).length} false ready, ${cases.filter(isFalse('failed')).length} false failed`
          return `${tier} ${isCore ? 'core' : 'custom'}: ${cases.filter(isRight).length}/${cases.length} ${scores}, ${wrong}`
        }),
      )
      const printedTier = process.env['VERDICTS']
      const misses = judged.filter((each) => !isRight(each) && (printedTier === 'all' || each.tier === printedTier))
      console.log([...rows, ...names(misses)].join('\n'))
    })

    test('no object is ready that they agree is not ready', () => {
      expect(names(agreed.filter(isFalse('ready')))).toEqual([])
    })

    test('no object is failed that they agree has not failed', () => {
      expect(names(agreed.filter(isFalse('failed')))).toEqual([])
    })

    // Some tools treat a Service without endpoints as ready; here a template change during the wait is superseded.
    test('98 of 100 verdicts are equal for core objects on which they agree', () => {
      expect(share(of('consensus', true), isRight)).toBeGreaterThanOrEqual(0.98)
    })

    test('97 of 100 verdicts are equal for custom objects on which they agree', () => {
      expect(share(of('consensus', false), isRight)).toBeGreaterThanOrEqual(0.97)
    })

    test('85 of 100 verdicts are equal for custom objects that only one of them supports', () => {
      expect(share(of('single', false), isRightOrProgressing)).toBeGreaterThanOrEqual(0.85)
    })
  })
} else {
  test.skip('compared with the verdicts of public tools: the cases are missing', () => {})
}
