import { commentBody, commentMarker } from '../../src/github/comment.ts'
import { environmentName, environmentUrl } from '../../src/github/deployment-status.ts'
import { originOf } from '../../src/github/origin.ts'
import { boundedSummary, gateName } from '../../src/github/texts.ts'
import { parseReferences } from '../../src/plan/references.ts'
import { createTarget, createTargetRecord, createTimeline } from '../report/builders.ts'
import { createRun } from './runs.ts'

const place = { workflow: 'Deploy', job: 'production' }

describe('gateName', () => {
  const nameOf = (text: string, namespace?: string) => gateName(place, parseReferences(text).references, namespace)

  it.each([
    ['deployment/web', 'shop', 'Rollout of deployment/web in shop (Deploy / production)'],
    ['deployment/web', undefined, 'Rollout of deployment/web (Deploy / production)'],
    [
      'deploy/web svc/web\njob/migrate',
      'shop',
      'Rollout of deploy/web, svc/web, job/migrate in shop (Deploy / production)',
    ],
    ['deploy/a deploy/b deploy/c deploy/d', 'shop', 'Rollout in shop (Deploy / production)'],
    ['deploy -l app=shop', 'shop', 'Rollout of deploy -l app=shop in shop (Deploy / production)'],
    ['deploy --all', 'shop', 'Rollout of deploy --all in shop (Deploy / production)'],
    ['deploy/web -n shop', undefined, 'Rollout of deploy/web in shop (Deploy / production)'],
    ['deploy/web -n shop\ndeploy/api', 'back', 'Rollout of deploy/web, deploy/api (Deploy / production)'],
    ['deploy/web\n!deploy/canary', 'shop', 'Rollout of deploy/web in shop (Deploy / production)'],
  ])('of %j in %s is %j', (text, namespace, name) => {
    expect(nameOf(text, namespace)).toBe(name)
  })

  it('does not change with what kubectl had to do', () => {
    expect(nameOf('deployment.apps/web created')).toBe(nameOf('deployment.apps/web unchanged'))
  })

  it('does without what is not known', () => {
    expect(gateName({ workflow: '', job: '' }, [], undefined)).toBe('Rollout')
    expect(gateName({ workflow: '', job: 'deploy' }, [], 'shop')).toBe('Rollout (deploy)')
  })

  it('is one bounded line', () => {
    const name = gateName({ workflow: `a\n${'x'.repeat(300)}`, job: 'b' }, [], undefined)
    expect(name).toHaveLength(200)
    expect(name).not.toContain('\n')
  })
})

describe('environmentName', () => {
  const inNamespaces = (...namespaces: string[]) =>
    createTimeline({
      targets: namespaces.map((namespace) => createTargetRecord({ target: createTarget({ namespace }) })),
    })

  it.each([
    [inNamespaces('shop', 'shop'), 'prod/shop'],
    [inNamespaces('shop', 'back'), 'prod'],
    [inNamespaces(), 'prod'],
    [{ ...inNamespaces('shop'), context: '' }, ''],
    [{ ...inNamespaces('shop'), context: 'ad"min,\n`x`;\\' }, 'ad-min- -x---/shop'],
  ])('of case %# is %j', (timeline, name) => {
    expect(environmentName(timeline)).toBe(name)
  })
})

describe('environmentUrl', () => {
  const ingress = (spec: unknown, fields: object = {}) => ({
    exclude: false,
    manifest: {
      file: 'k8s/web.yaml',
      line: 1,
      lineOf: () => 1,
      object: { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'web' }, spec, ...fields },
    },
  })
  const rules = [{ host: 'shop.example' }]

  it.each([
    ['with TLS', [ingress({ rules, tls: [{ hosts: ['shop.example'] }] })], 'https://shop.example'],
    ['without TLS', [ingress({ rules, tls: [{ hosts: ['other.example'] }, null] })], 'http://shop.example'],
    ['behind one without a host', [ingress({ rules: [{}, null] }), ingress({ rules })], 'http://shop.example'],
    ['with a wildcard', [ingress({ rules: [{ host: '*.example' }] })], undefined],
    [
      'with nothing right',
      [ingress(undefined), ingress({ rules: 'x', tls: 3 }), ingress({ rules: [{ host: 1 }] })],
      undefined,
    ],
    ['that is excluded', [{ ...ingress({ rules }), exclude: true }], undefined],
    ['of another kind', [ingress({ rules }, { kind: 'Route' })], undefined],
    ['without a manifest', [{ exclude: false }], undefined],
  ])('of an Ingress %s is %3$j', (_, references, url) => {
    expect(environmentUrl(references as Parameters<typeof environmentUrl>[0])).toBe(url)
  })
})

describe('boundedSummary', () => {
  it('is the job summary where that fits', () => {
    expect(boundedSummary(createTimeline(), 65_535, {})).toMatch(/^### ✅ Rollout ready in 31 s · deployment\/web\n/)
  })

  it('is one sentence where nothing else fits', () => {
    const message = Array.from({ length: 2_000 }, (_, line) => `resources, line ${line}: ${'$'.repeat(50)}`).join('\n')
    const verdict = { outcome: 'misconfigured', reason: 'input-invalid', message } as const
    const text = boundedSummary(createTimeline({ targets: [], entries: [], verdict }), 65_535, {})
    expect(text.length).toBeLessThan(500)
    expect(text).toContain('mistake in the inputs')
  })
})

describe('a comment', () => {
  it('is found by a marker that no name can break out of, another one for each gate', () => {
    const hostile = commentMarker('--> <script>')
    expect(hostile).toMatch(/^<!-- rollout-gate [0-9a-f]{16} -->$/)
    expect(hostile).not.toBe(commentMarker('Rollout'))
    expect(hostile).toBe(commentMarker('--> <script>'))
  })

  it('begins with its marker and ends with which gate of which commit speaks', () => {
    const body = commentBody(createTimeline(), 'Rollout of deploy/*web*', originOf(createRun()))
    expect(body.startsWith(`${commentMarker('Rollout of deploy/*web*')}\n### ✅`)).toBe(true)
    expect(body.split('\n').at(-2)).toBe(
      '<sub>Rollout of deploy/\\*web\\* · commit [2222222](https://github.com/acme/shop/commit/2222222222222222222222222222222222222222) · [log](https://github.com/acme/shop/actions/runs/77/attempts/2)</sub>',
    )
  })
})
