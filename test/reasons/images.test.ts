import type { PullFailureCause } from '../../src/reasons/images.ts'
import { problemSentence } from '../../src/reasons/reasons.ts'
import { createPod, createProblem, headline, hint } from '../kit/problems.ts'
import { toSubject } from '../kit/subject.ts'

const pull = (image: string, cause?: PullFailureCause) => ({ image, answer: 'no', cause })

describe('an image that cannot be pulled', () => {
  it('is named with the answer of the registry and the number of refusals', () => {
    const detail = { image: 'acme/web:v2', answer: 'not found' }
    const place = 'container app of pod/web-1-a'
    expect(problemSentence(createProblem('image-not-found', detail))).toBe(
      `${place} cannot pull image "acme/web:v2": not found`,
    )
    expect(problemSentence(createProblem('image-not-found', { ...detail, answer: '' }, { count: 2 }))).toBe(
      `${place} cannot pull image "acme/web:v2", 2 times`,
    )
  })

  it.each([
    ['image-not-found', 'image acme/web:v9 not found'],
    ['image-unauthorized', 'not allowed to pull image acme/web:v9'],
  ] as const)('%s has the headline %j', (reason, words) => {
    expect(headline(reason, pull('acme/web:v9'))).toBe(words)
  })

  it('without a tag is pulled as latest', () => {
    expect(hint('image-not-found', pull('r.io:5000/acme/web'))).toContain('It names no tag')
    expect(hint('image-not-found', pull('acme/web:v2'))).not.toContain('It names no tag')
  })

  it('without credentials: the hint names the Secret of the pod, or that it has none', () => {
    const detail = pull('r.io/acme/web:v2')
    expect(hint('image-unauthorized', detail, { pod: createPod({ imagePullSecrets: [{ name: 'regcred' }] }) })).toMatch(
      /^The pod pulls from r\.io with the imagePullSecret regcred: check that it exists in namespace shop/,
    )
    expect(hint('image-unauthorized', detail, { pod: createPod() })).toContain(
      '`kubectl create secret docker-registry NAME --docker-server=r.io --docker-username=USER --docker-password=TOKEN -n shop`',
    )
  })

  it.each<[PullFailureCause | undefined, RegExp]>([
    ['connection-refused', /nothing listens there/],
    ['unknown-host', /its DNS does not resolve that name/],
    ['untrusted-certificate', /does not trust its certificate/],
    ['plain-http', /plain HTTP/],
    ['timeout', /there is no answer/],
    [undefined, /^The node cannot pull from r\.io: check the registry’s name/],
  ])('from an unreachable registry: %s', (cause, words) => {
    expect(hint('image-registry-unreachable', pull('r.io/acme/web:v2', cause))).toMatch(words)
  })

  it.each<[PullFailureCause | undefined, RegExp]>([
    ['disk-full', /^The disk of the node is full\..*`kubectl describe node\/n1`/],
    ['broken-layer', /^The node cannot unpack a layer of acme\/web:v2\./],
    [undefined, /`kubectl describe pod\/web-1-a -n shop`\.$/],
  ])('by the node itself: %s', (cause, words) => {
    expect(hint('image-pull-failed', pull('acme/web:v2', cause), { pod: createPod({ nodeName: 'n1' }) })).toMatch(words)
  })
})

it('the hint for an invalid image name suggests lower case', () => {
  expect(hint('image-name-invalid', { image: 'acme/Web:V2' })).toBe(
    "Correct the image's name: it has to be in lower case, `acme/web:V2`.",
  )
})

describe('a pod that runs another image than the expected one', () => {
  const mismatch = { image: 'acme/web:v2', expected: 'sha256:2', isLoaded: false }

  it.each([
    [{ ...mismatch, running: 'sha256:1' }, 'runs sha256:1, but sha256:2 was expected'],
    [mismatch, 'runs an image whose digest is not known, but sha256:2 was expected'],
    [
      { ...mismatch, running: 'sha256:1', isLoaded: true },
      'runs an image that was loaded onto the node and has the ID sha256:1, but sha256:2 was expected',
    ],
  ])('%j', (detail, words) => {
    expect(problemSentence(createProblem('image-mismatch', detail))).toBe(`container app of pod/web-1-a ${words}`)
    expect(headline('image-mismatch', detail)).toBe('another image runs than the one expected')
  })

  it('has a hint for a moved tag, and for an image that no registry has', () => {
    expect(hint('image-mismatch', mismatch)).toMatch(/^Find out what moved the tag of acme\/web:v2 /)
    expect(hint('image-mismatch', { ...mismatch, isLoaded: true })).toMatch(
      /^The image was loaded onto the node, so it has an ID/,
    )
  })
})

it.each([
  [['worker'], 'no pod has the expected container worker'],
  [['worker', 'cron'], 'no pod has the expected containers worker, cron'],
])('the headline names the expected containers %j that no pod has', (missingContainers, words) => {
  const of = { subject: toSubject('deployment/web'), container: undefined }
  expect(headline('image-mismatch', { missingContainers })).toBe(words)
  expect(hint('image-mismatch', { missingContainers })).toMatch(/^Correct the container name in expect-images: /)
  expect(problemSentence(createProblem('image-mismatch', { missingContainers }, of))).toBe(
    `deployment/web: no gated pod has a container named ${missingContainers.join(', ')}, whose image is expected`,
  )
})
