import { isPullRefusal, pullFailure } from '../../src/lifecycle/workloads/image-pull.ts'
import { make } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('the message of a refused pull', () => {
  it.each(rows<[string, readonly string[], string, string]>(data, 'an aggregate of errors'))(
    'means %s',
    (_, errors, reason, answer) => {
      for (const start of [
        'Failed to pull image "127.0.0.1:5995/app:v1": ',
        'Back-off pulling image "127.0.0.1:5995/app:v1": ErrImagePull: ',
        '',
      ]) {
        const message = `${start}[${errors.join(', ')}]`
        expect(pullFailure(message).reason).toBe(reason)
        expect(pullFailure(message).answer).toBe(answer)
      }
    },
  )

  it.each(rows<[string, string, string]>(data, 'one wording'))(
    'has the same reason and answer for %s in an event, a state and a back-off',
    (error, words, answer) => {
      const [event, state] = [`${error}: ${answer}`, `image pull failed for acme/web:v1 because ${words}: ${answer}`]
      const messages = [
        `Failed to pull image "acme/web:v1": rpc error: code = Unknown desc = ${event}`,
        `Failed to pull image "acme/web:v1": ${event}`,
        state,
        `Back-off pulling image "acme/web:v1": ${error}: ${state}`,
      ]
      expect(new Set(messages.map((message) => pullFailure(message).answer))).toEqual(new Set([answer]))
      expect(new Set(messages.map((message) => pullFailure(message).reason)).size).toBe(1)
    },
  )

  it.each(rows<[string, string]>(data, 'a signature'))(
    'about a signature %s means that the node refuses the image',
    (_, message) => {
      expect(pullFailure(message).reason).toBe('image-unauthorized')
      expect(pullFailure(message).cause).toBe('signature')
    },
  )

  it.each(rows<[string, string, string]>(data, 'the message of a refused pull'))('%s', (_, message, reason) => {
    expect(pullFailure(message).reason).toBe(reason)
  })

  it.each(rows<[string, string]>(data, 'is not mistaken for the answer of the registry'))(
    'means image-registry-unreachable although it contains %s',
    (_, message) => {
      expect(pullFailure(message).reason).toBe('image-registry-unreachable')
    },
  )

  it.each(rows<[string, string]>(data, 'an unquoted name'))(
    'means image-not-found although it contains the unquoted %s',
    (_, message) => {
      expect(pullFailure(message).reason).toBe('image-not-found')
    },
  )

  it('means image-not-found also inside the message of a back-off', () => {
    const image = 'r.io/denied/app:404'
    const answer = `failed to pull and unpack image "${image}": failed to resolve reference "${image}": ${image}: not found`
    expect(pullFailure(`Back-off pulling image "${image}": ErrImagePull: ${answer}`).reason).toBe('image-not-found')
  })
})

it('the reason of a refused pull is not read from the name of the image if another quoted name comes first', () => {
  expect(pullFailure('container "web": Failed to pull image "r.io/web/denied:v1": no').reason).toBe('image-pull-failed')
})

it.each(rows<[string, string, string]>(data, "the registry's own words"))(
  'the answer of a registry %s',
  (_, message, words) => {
    expect(pullFailure(message).answer).toBe(words)
  },
)

/**
 * What runtimes and registries write, as reported in public issues: containerd, CRI-O and cri-dockerd before Docker Hub,
 * ECR, Artifact Registry, ACR, GHCR, GitLab, Harbor, Quay, Artifactory and Nexus.
 */
describe('the message of a container runtime', () => {
  describe.each(
    rows<[string, readonly (readonly [string, string])[]]>(data, 'the messages of the runtimes for each registry'),
  )('means %s', (reason, messages) => {
    it.each(messages)('for %s', (_, message) => {
      expect(pullFailure(message).reason).toBe(reason)
      expect(pullFailure(`Failed to pull image "ghcr.io/acme/web:v9": ${message}`).reason).toBe(reason)
      expect(pullFailure(`Back-off pulling image "ghcr.io/acme/web:v9": ErrImagePull: ${message}`).reason).toBe(reason)
    })
  })

  it('is classified within a second, however long it is', () => {
    const hostile = 'failed to resolve reference '.repeat(40_000) + '"a":'.repeat(40_000)
    const startedAt = performance.now()
    pullFailure(hostile)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })
})

describe('the cause of a failed pull', () => {
  it.each(rows<[string, string, string | null]>(data, 'the cause of a failed pull'))('%s', (_, answer, cause) => {
    const image = 'r.io/acme/web:v2'
    expect(pullFailure(`Failed to pull image "${image}": ${answer}`).cause ?? null).toBe(cause)
  })

  it('is not read from the name of the image', () => {
    expect(pullFailure('Failed to pull image "r.io/no space left on device": no').cause).toBeUndefined()
  })
})

it.each(rows<[string, string, string, boolean]>(data, 'an event of a refused pull'))(
  'an event of a refused pull %s',
  (_, reason, message, counts) => {
    expect(isPullRefusal(make.event(make.pod(), { container: 'app', reason, message }))).toBe(counts)
  },
)
