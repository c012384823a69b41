import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { judge, type VerdictCase } from './case.ts'

const file = join(import.meta.dirname, '../../../shared/verdicts/cases.jsonl')
const coreGroups = /^(v1|apps\/|batch\/|autoscaling\/|policy\/|networking\.k8s\.io\/|apiextensions\.k8s\.io\/|apiregistration\.k8s\.io\/|storage\.k8s\.io\/|rbac\.)/

describe.each(existsSync(file) ? [file] : [])('the verdict cases of public tools in %s', () => {
  const cases = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as VerdictCase).filter(({ tier }) => tier !== 'no-verdict')
  const judged = cases.map((each) => ({ ...each, got: judge(each), isCore: coreGroups.test(each.apiVersion) }))
  const isRight = ({ got, expected, alsoAcceptable = [], tier, verdicts = {} }: (typeof judged)[number]) =>
    got === expected || alsoAcceptable.includes(got) || (tier === 'disputed' && Object.values(verdicts).includes(got))
  const score = (name: string, of: typeof judged) => {
    const right = of.filter(isRight).length
    return { name, right, of: of.length, share: of.length === 0 ? 1 : right / of.length }
  }

  test('prints the score', () => {
    const rows = ['consensus', 'majority', 'disputed', 'single'].flatMap((tier) => [
      score(`${tier} core`, judged.filter((each) => each.tier === tier && each.isCore)),
      score(`${tier} custom`, judged.filter((each) => each.tier === tier && !each.isCore)),
    ])
    console.log(rows.map(({ name, right, of, share }) => `${name.padEnd(18)} ${right}/${of} ${(share * 100).toFixed(1)} %`).join('\n'))
    if (process.env['VERDICTS']) {
      for (const each of judged.filter((one) => !isRight(one) && (one.tier === process.env['VERDICTS'] || process.env['VERDICTS'] === 'all'))) {
        console.log(each.tier, each.id, each.kind, 'expected', each.expected, 'got', each.got, each.note)
      }
    }
    expect(rows).not.toHaveLength(0)
  })
})
