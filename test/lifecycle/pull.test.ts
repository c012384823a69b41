import { isPullRefusal, pullReason, registryWords } from '../../src/lifecycle/pull.ts'
import { createEvent, createPod } from './builders.ts'

/** As containerd 1.6 under Kubernetes 1.34 words it, with the image's name where it stands. */
function containerd(answer: string, image = '127.0.0.1:5995/app:v1'): string {
  return `failed to pull and unpack image "${image}": failed to resolve reference "${image}": ${answer}`
}

function refusedBy(host: string, status: string, tag = 'v1'): string {
  return `pulling from host ${host} failed with status code [manifests ${tag}]: ${status}`
}

describe('the words of a refused pull', () => {
  it.each([
    [
      'a 404 is an image that does not exist',
      `rpc error: code = NotFound desc = ${containerd('127.0.0.1:5995/app:v1: not found')}`,
      'image-not-found',
    ],
    [
      'so is an unknown manifest in the words of CRI-O',
      'reading manifest v9 in quay.io/acme/web: manifest unknown',
      'image-not-found',
    ],
    ['a 401 is unauthorised', containerd(refusedBy('127.0.0.1:5995', '401 Unauthorized')), 'image-unauthorized'],
    ['a 403 is unauthorised', containerd(refusedBy('127.0.0.1:5995', '403 Forbidden')), 'image-unauthorized'],
    [
      'a private or missing repository of Docker Hub is unauthorised',
      containerd(
        'pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
      ),
      'image-unauthorized',
    ],
    ['a 429 is a rate limit', containerd(refusedBy('127.0.0.1:5995', '429 Too Many Requests')), 'image-rate-limited'],
    [
      'so is toomanyrequests',
      containerd('toomanyrequests: You have reached your pull rate limit.'),
      'image-rate-limited',
    ],
    [
      'a 503 is a registry that cannot be reached',
      containerd(refusedBy('127.0.0.1:5995', '503 Service Unavailable')),
      'image-registry-unreachable',
    ],
    [
      'so is a closed port',
      containerd(
        'failed to do request: Head "http://127.0.0.1:5996/v2/app/manifests/v1": dial tcp 127.0.0.1:5996: connect: connection refused',
      ),
      'image-registry-unreachable',
    ],
    [
      'so is a name that DNS does not know',
      containerd(
        'failed to do request: Head "https://nope.example/v2/app/manifests/v1": dial tcp: lookup nope.example on 10.0.0.2:53: no such host',
      ),
      'image-registry-unreachable',
    ],
    [
      'so is a registry that speaks no TLS',
      containerd('failed to do request: Head "https://r.io/v2/": http: server gave HTTP response to HTTPS client'),
      'image-registry-unreachable',
    ],
    [
      "so is a proxy's name that DNS does not know",
      'initializing source docker://r.io/app:v1: pinging container registry r.io: Get "https://r.io/v2/": proxyconnect tcp: dial tcp: lookup proxy: Temporary failure in name resolution',
      'image-registry-unreachable',
    ],
    [
      'a denial is unauthorised in the words of CRI-O, whatever the image is called',
      'initializing source docker://r.io/not found/app:404: reading manifest 404 in r.io/app: errors:\ndenied: requested access to the resource is denied\nunauthorized: authentication required',
      'image-unauthorized',
    ],
    [
      'so is the token of a registry that names the repository in its address',
      containerd(
        'failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://r.io/token?scope=repository%3A429%3Apull: 403 Forbidden',
      ),
      'image-unauthorized',
    ],
    ['words that nobody knows are a failed pull', 'the dog ate it', 'image-pull-failed'],
    ['no words are a failed pull', '', 'image-pull-failed'],
  ])('%s', (_, message, reason) => {
    expect(pullReason(message)).toBe(reason)
  })

  it.each([
    [
      'a repository called denied',
      containerd(refusedBy('127.0.0.1:5995', '503 Service Unavailable'), 'r.io/access denied:/denied:v1'),
    ],
    ['a tag 404', containerd(refusedBy('127.0.0.1:5995', '503 Service Unavailable', '404'), 'r.io/app:404')],
    ['a tag 401', containerd(refusedBy('127.0.0.1:5995', '503 Service Unavailable', '401'), 'r.io/app:401')],
    ['a registry called forbidden', containerd(refusedBy('forbidden.example', '503 Service Unavailable'))],
    [
      'a registry called unauthorized that DNS does not know',
      containerd(
        'failed to do request: Head "https://unauthorized.example/v2/app/manifests/404": dial tcp: lookup unauthorized.example on 10.0.0.2:53: no such host',
        'unauthorized.example/app:404',
      ),
    ],
    [
      'a registry behind port 404',
      containerd(
        'failed to do request: Head "http://r.io:404/v2/": dial tcp 10.0.0.9:404: connect: connection refused',
        'r.io:404/app:v1',
      ),
    ],
  ])('%s is not mistaken for the answer of the registry', (_, message) => {
    expect(pullReason(message)).toBe('image-registry-unreachable')
  })

  it.each([
    ['reading manifest 401 in quay.io/acme/web: manifest unknown'],
    ['Error response from daemon: manifest for denied:v1 not found: manifest unknown'],
  ])('an unquoted name is not mistaken for the answer: %s', (message) => {
    expect(pullReason(message)).toBe('image-not-found')
  })

  it('is the same behind the words of the back-off', () => {
    const image = 'r.io/denied/app:404'
    const message = `Back-off pulling image "${image}": ErrImagePull: ${containerd(`${image}: not found`, image)}`
    expect(pullReason(message)).toBe('image-not-found')
  })
})

describe("the registry's own words", () => {
  it.each([
    [containerd(refusedBy('r.io', '401 Unauthorized')), refusedBy('r.io', '401 Unauthorized')],
    [
      `Back-off pulling image "r.io/app:v1": ErrImagePull: ${containerd('r.io/app:v1: not found', 'r.io/app:v1')}`,
      'not found',
    ],
    ['Back-off pulling image "r.io/app:v1"', ''],
    ['the dog\n ate it', 'the dog ate it'],
  ])('of %j are %j', (message, words) => {
    expect(registryWords(message)).toBe(words)
  })
})

describe('an event of a refused pull', () => {
  const pod = createPod()

  it.each([
    ['counts when the pull itself failed', 'Failed', 'Failed to pull image "acme/web:v1": not found', true],
    ['does not count when it only repeats the state', 'Failed', 'Error: ErrImagePull', false],
    ['does not count when it is the back-off', 'BackOff', 'Back-off pulling image "acme/web:v1"', false],
    ['does not count without words', 'Failed', '', false],
  ])('%s', (_, reason, message, counts) => {
    expect(isPullRefusal(createEvent(pod, { container: 'app', reason, message }))).toBe(counts)
  })
})
