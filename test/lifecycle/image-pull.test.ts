import { isPullRefusal, pullDetail, pullReason, registryAnswer } from '../../src/lifecycle/workloads/image-pull.ts'
import { make } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** The message of containerd 1.6 under Kubernetes 1.34, with the image's name. */
function containerd(answer: string, image = '127.0.0.1:5995/app:v1'): string {
  return `failed to pull and unpack image "${image}": failed to resolve reference "${image}": ${answer}`
}

function refusedBy(host: string, status: string, tag = 'v1'): string {
  return `pulling from host ${host} failed with status code [manifests ${tag}]: ${status}`
}

describe('the message of a refused pull', () => {
  const [unknown, denied] = [
    `rpc error: code = NotFound desc = ${containerd('127.0.0.1:5995/app:v1: not found')}`,
    `rpc error: code = Unknown desc = ${containerd(refusedBy('127.0.0.1:5995', '403 Forbidden'))}`,
  ]
  const limited = `rpc error: code = Unknown desc = ${containerd('toomanyrequests: You have reached your limit.')}`
  const crio = ['initializing source docker://quay.io/acme/web:v9', 'reading manifest v9 in quay.io/acme/web'] as const

  it.each([
    [[unknown, unknown.replace('NotFound', 'Unknown')], 'image-not-found', 'not found'],
    [
      [unknown, denied],
      'image-unauthorized',
      'pulling from host 127.0.0.1:5995 failed with status code [manifests v1]: 403 Forbidden',
    ],
    [[limited, unknown], 'image-rate-limited', 'toomanyrequests: You have reached your limit.'],
    [
      [`${crio.join(': ')}: manifest unknown`, `${crio.join(': ')}: name unknown`],
      'image-not-found',
      `${crio.join(': ')}: manifest unknown`,
    ],
  ])('with several pull secrets is an aggregate of errors, of which one decides: %#', (errors, reason, answer) => {
    for (const start of [
      'Failed to pull image "127.0.0.1:5995/app:v1": ',
      'Back-off pulling image "127.0.0.1:5995/app:v1": ErrImagePull: ',
      '',
    ]) {
      const message = `${start}[${errors.join(', ')}]`
      expect(pullReason(message)).toBe(reason)
      expect(registryAnswer(message)).toBe(answer)
    }
  })

  it.each([
    ['SignatureValidationFailed', 'the signature validation failed', 'Source image rejected: no signature exists'],
    ['RegistryUnavailable', 'the registry is unavailable', 'pinging container registry quay.io: i/o timeout'],
  ])('has one wording in the event, the state and the back-off of the kubelet: %s', (error, words, answer) => {
    const [event, state] = [`${error}: ${answer}`, `image pull failed for acme/web:v1 because ${words}: ${answer}`]
    const messages = [
      `Failed to pull image "acme/web:v1": rpc error: code = Unknown desc = ${event}`,
      `Failed to pull image "acme/web:v1": ${event}`,
      state,
      `Back-off pulling image "acme/web:v1": ${error}: ${state}`,
    ]
    expect(new Set(messages.map(registryAnswer))).toEqual(new Set([answer]))
    expect(new Set(messages.map(pullReason)).size).toBe(1)
  })

  it.each([
    ['missing', 'SignatureValidationFailed: Source image rejected: A signature was required, but no signature exists'],
    [
      'rejected',
      'copying system image: Source image rejected: Running image docker://acme/web:v1 is rejected by policy.',
    ],
    ['invalid', 'image pull failed for acme/web:v1 because the signature validation failed.'],
  ])('about a %s signature is a refusal by the node, not for credentials', (_, message) => {
    expect(pullReason(message)).toBe('image-unauthorized')
    expect(pullDetail('acme/web:v1', message).cause).toBe('signature')
  })

  it.each(rows<[string, string, string]>(data, 'the message of a refused pull'))('%s', (_, message, reason) => {
    expect(pullReason(message)).toBe(reason)
  })

  it.each(rows<[string, string]>(data, 'is not mistaken for the answer of the registry'))(
    '%s is not mistaken for the answer of the registry',
    (_, message) => {
      expect(pullReason(message)).toBe('image-registry-unreachable')
    },
  )

  it.each([
    ['reading manifest 401 in quay.io/acme/web: manifest unknown'],
    ['Error response from daemon: manifest for denied:v1 not found: manifest unknown'],
  ])('an unquoted name is not mistaken for the answer: %s', (message) => {
    expect(pullReason(message)).toBe('image-not-found')
  })

  it('is the same after the text of a back-off', () => {
    const image = 'r.io/denied/app:404'
    const message = `Back-off pulling image "${image}": ErrImagePull: ${containerd(`${image}: not found`, image)}`
    expect(pullReason(message)).toBe('image-not-found')
  })
})

it('the reason of a refused pull is not read from the name of an image that contains another quoted name', () => {
  expect(pullReason('container "web": Failed to pull image "r.io/web/denied:v1": no')).toBe('image-pull-failed')
})

describe("the registry's own words", () => {
  it.each([
    ['a refusal', containerd(refusedBy('r.io', '401 Unauthorized')), refusedBy('r.io', '401 Unauthorized')],
    [
      'a missing image',
      `Back-off pulling image "r.io/app:v1": ErrImagePull: ${containerd('r.io/app:v1: not found', 'r.io/app:v1')}`,
      'not found',
    ],
    ['a back-off', 'Back-off pulling image "r.io/app:v1"', ''],
    ['an unknown message', 'the dog\n ate it', 'the dog ate it'],
  ])('about %s', (_, message, words) => {
    expect(registryAnswer(message)).toBe(words)
  })
})

/**
 * What runtimes and registries write, as reported in public issues: containerd, CRI-O and cri-dockerd before Docker Hub,
 * ECR, Artifact Registry, ACR, GHCR, GitLab, Harbor, Quay, Artifactory and Nexus.
 */
describe('the messages of the runtimes for each registry', () => {
  describe.each(
    rows<[string, readonly (readonly [string, string])[]]>(data, 'the messages of the runtimes for each registry'),
  )('%s', (reason, messages) => {
    it.each(messages)('%s', (_, message) => {
      expect(pullReason(message)).toBe(reason)
      expect(pullReason(`Failed to pull image "ghcr.io/acme/web:v9": ${message}`)).toBe(reason)
      expect(pullReason(`Back-off pulling image "ghcr.io/acme/web:v9": ErrImagePull: ${message}`)).toBe(reason)
    })
  })

  it('are classified in time however long they are', () => {
    const hostile = 'failed to resolve reference '.repeat(40_000) + '"a":'.repeat(40_000)
    const startedAt = performance.now()
    pullReason(hostile)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })
})

describe('the cause of a failed pull', () => {
  it.each([
    ['dial tcp 10.0.0.1:443: connect: connection refused', 'connection-refused'],
    ['dial tcp: lookup r.io: no such host', 'unknown-host'],
    ['x509: certificate signed by unknown authority', 'untrusted-certificate'],
    ['http: server gave HTTP response to HTTPS client', 'plain-http'],
    ['i/o timeout', 'timeout'],
    ['failed to register layer: write /x: no space left on device', 'disk-full'],
    ['failed to extract layer sha256:24: exit status 1', 'broken-layer'],
    ['not found', undefined],
  ])('%s', (answer, cause) => {
    const image = 'r.io/acme/web:v2'
    expect(pullDetail(image, `Failed to pull image "${image}": ${answer}`).cause).toBe(cause)
  })

  it('is not read from the name of the image', () => {
    expect(pullDetail('r.io/certificate:v1', 'Failed to pull image "r.io/certificate:v1": no').cause).toBeUndefined()
  })
})

describe('an event of a refused pull', () => {
  const pod = make.pod()

  it.each([
    ['counts when the pull itself failed', 'Failed', 'Failed to pull image "acme/web:v1": not found', true],
    ['does not count when it only repeats the state', 'Failed', 'Error: ErrImagePull', false],
    ['does not count when it is the back-off', 'BackOff', 'Back-off pulling image "acme/web:v1"', false],
    ['does not count without words', 'Failed', '', false],
  ])('%s', (_, reason, message, counts) => {
    expect(isPullRefusal(make.event(pod, { container: 'app', reason, message }))).toBe(counts)
  })
})
