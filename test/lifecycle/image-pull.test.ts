import { isPullRefusal, pullDetail, pullReason, registryAnswer } from '../../src/lifecycle/workloads/image-pull.ts'
import { make } from '../kit/objects.ts'

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
    'SignatureValidationFailed: Source image rejected: A signature was required, but no signature exists',
    'copying system image from manifest list: Source image rejected: Running image docker://acme/web:v1 is rejected by policy.',
    'image pull failed for acme/web:v1 because the signature validation failed.',
  ])('about a signature is a refusal by the node, not for credentials: %s', (message) => {
    expect(pullReason(message)).toBe('image-unauthorized')
    expect(pullDetail('acme/web:v1', message).cause).toBe('signature')
  })

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
      'so is a registry without TLS',
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
    ['unknown words are a failed pull', 'unknown words', 'image-pull-failed'],
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
    [containerd(refusedBy('r.io', '401 Unauthorized')), refusedBy('r.io', '401 Unauthorized')],
    [
      `Back-off pulling image "r.io/app:v1": ErrImagePull: ${containerd('r.io/app:v1: not found', 'r.io/app:v1')}`,
      'not found',
    ],
    ['Back-off pulling image "r.io/app:v1"', ''],
    ['the dog\n ate it', 'the dog ate it'],
  ])('of %j are %j', (message, words) => {
    expect(registryAnswer(message)).toBe(words)
  })
})

/**
 * What runtimes and registries write, as reported in public issues: containerd, CRI-O and cri-dockerd before Docker Hub,
 * ECR, Artifact Registry, ACR, GHCR, GitLab, Harbor, Quay, Artifactory and Nexus.
 */
describe('the messages of the runtimes for each registry', () => {
  const digest = 'sha256:404f2019c7d173d071d53fff6ee4e2783443d72035a406d0d257c109f14c4041'
  const ecr = '123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/web:v9'
  const gar = 'europe-west2-docker.pkg.dev/acme/apps/web:v9'
  const unpack = (words: string, image = 'ghcr.io/acme/web:v9') =>
    `rpc error: code = Unknown desc = failed to pull and unpack image "${image}": ${words}`

  describe.each<[string, readonly (readonly [string, string])[]]>([
    [
      'image-not-found',
      [
        [
          'ECR without such a tag or repository',
          `rpc error: code = NotFound desc = ${containerd(`${ecr}: not found`, ecr)}`,
        ],
        ['containerd 2.1', unpack('failed to resolve image: ghcr.io/acme/web:v9: not found')],
        [
          'Docker Hub by cri-dockerd',
          'rpc error: code = Unknown desc = Error response from daemon: manifest for acme/web:v9 not found: manifest unknown: manifest unknown',
        ],
        [
          'ECR by cri-dockerd',
          `Error response from daemon: repository 123456789012.dkr.ecr.eu-west-1.amazonaws.com/certificate not found: name unknown: The repository with name 'certificate' does not exist in the registry with id '123456789012'`,
        ],
        [
          'ACR by cri-dockerd',
          'Error response from daemon: manifest for acme.azurecr.io/web:v9 not found: manifest unknown: manifest tagged by "v9" is not found',
        ],
        [
          'Artifactory',
          'Error response from daemon: manifest for acme.jfrog.io/docker/web:v9 not found: manifest unknown: The named manifest is not known to the registry.',
        ],
        [
          'Quay whose tag has expired',
          'initializing source docker://quay.io/acme/web:v9: reading manifest v9 in quay.io/acme/web: manifest unknown: Tag v9 was deleted or has expired. To pull, revive via time machine',
        ],
        [
          'CRI-O that tries an artifact next',
          'unable to pull image or OCI artifact: pull image err: initializing source docker://registry.connect.redhat.com/acme/web:2.6.0: reading manifest 2.6.0 in registry.connect.redhat.com/acme/web: name unknown: Image not found; artifact err: get manifest: build image source: reading manifest 2.6.0 in registry.connect.redhat.com/acme/web: name unknown: Image not found',
        ],
      ],
    ],
    [
      'image-unauthorized',
      [
        [
          'Docker Hub by cri-dockerd',
          "Error response from daemon: pull access denied for acme/web, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
        ],
        [
          'ECR with an expired token',
          containerd(refusedBy('123456789012.dkr.ecr.eu-west-1.amazonaws.com', '403 Forbidden', 'v9'), ecr),
        ],
        [
          'ECR without credentials',
          containerd(
            'pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials',
            ecr,
          ),
        ],
        [
          'Artifact Registry',
          `Error response from daemon: Head "https://europe-west2-docker.pkg.dev/v2/acme/apps/web/manifests/v9": denied: Permission "artifactregistry.repositories.downloadArtifacts" denied on resource "projects/acme/locations/europe-west2/repositories/apps" (or it may not exist)`,
        ],
        [
          'Artifact Registry without credentials',
          containerd(
            `failed to authorize: failed to fetch oauth token: unexpected status from GET request to https://europe-west2-docker.pkg.dev/v2/token?scope=repository%3Aacme%2Fapps%2Fweb%3Apull: 403 Forbidden`,
            gar,
          ),
        ],
        [
          'GHCR',
          containerd(
            'unexpected status from HEAD request to https://ghcr.io/v2/acme/web/manifests/v9: 403 Forbidden',
            'ghcr.io/acme/web:v9',
          ),
        ],
        [
          'ACR',
          containerd(
            'failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://acme.azurecr.io/oauth2/token?scope=repository%3Aweb%3Apull: 401 Unauthorized',
            'acme.azurecr.io/web:v9',
          ),
        ],
        [
          'GitLab',
          'Error response from daemon: Head "https://registry.gitlab.com/v2/acme/web/manifests/v9": denied: access forbidden',
        ],
        [
          'Quay',
          'reading manifest v9 in quay.io/acme/web: unauthorized: access to the requested resource is not authorized',
        ],
        ['CRI-O without a token', 'Requesting bearer token: invalid status code from registry 403 (Forbidden)'],
        [
          'a layer of a private bucket',
          unpack(
            `failed to copy: httpReadSeeker: failed open: unexpected status code https://eu.gcr.io/v2/acme/web/blobs/${digest}: 403 Forbidden`,
          ),
        ],
      ],
    ],
    [
      'image-rate-limited',
      [
        [
          'Docker Hub',
          containerd(
            'unexpected status from HEAD request to https://registry-1.docker.io/v2/acme/web/manifests/v9: 429 Too Many Requests',
            'docker.io/acme/web:v9',
          ),
        ],
        [
          'Docker Hub by CRI-O',
          'reading manifest v9 in docker.io/acme/web: toomanyrequests: You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit',
        ],
        ['ECR Public', 'toomanyrequests: Rate exceeded'],
        ['Artifact Registry', `denied: Quota exceeded for quota metric 'Requests per project per region'`],
        [
          'a body of HTML by CRI-O',
          'reading manifest v9 in r.io/acme/web: StatusCode: 429, "<html><body>forbidden certificate"',
        ],
      ],
    ],
    [
      'image-registry-unreachable',
      [
        [
          'a 503 for a digest',
          containerd(
            `unexpected status from HEAD request to https://r.io/v2/acme/web/manifests/${digest}: 503 Service Unavailable`,
            `r.io/acme/web@${digest}`,
          ),
        ],
        [
          'a 503 with the words of the one behind it',
          containerd(
            'unexpected status from HEAD request to https://r.io/v2/acme/web/manifests/v9: 503 Service Unavailable: backend not found',
          ),
        ],
        [
          'a 502 for a token by CRI-O',
          'initializing source docker://quay.io/acme/web:v9: Requesting bearer token: invalid status code from registry 502 (Bad Gateway)',
        ],
        [
          'a 503 with a body of HTML by CRI-O',
          'reading manifest v9 in r.io/acme/web: StatusCode: 503, "<html><title>404 not found</title>denied"',
        ],
        [
          'a timeout',
          containerd(
            'failed to do request: Head "https://r.io/v2/acme/web/manifests/v9": net/http: TLS handshake timeout',
          ),
        ],
        [
          'a name that the DNS server cannot ask for',
          containerd(
            'failed to do request: Head "https://r.io/v2/": dial tcp: lookup r.io on 10.0.0.2:53: server misbehaving',
          ),
        ],
        [
          'a certificate of an unknown authority',
          'Error response from daemon: Get "https://r.io/v2/": x509: certificate signed by unknown authority',
        ],
        [
          'a proxy that refuses',
          containerd('failed to do request: Head "https://registry-1.docker.io/v2/acme/web/manifests/v9": Forbidden'),
        ],
        [
          'a proxy that wants a login',
          containerd('failed to do request: Head "https://r.io/v2/": Proxy Authentication Required'),
        ],
        [
          'a download that breaks',
          unpack(
            `failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://production.cloudflare.docker.com/registry-v2/docker/registry/v2/blobs/sha256/24": dial tcp 104.18.124.25:443: connect: connection refused`,
          ),
        ],
        [
          'a stream that is reset',
          unpack('failed to copy: stream error: stream ID 7; INTERNAL_ERROR; received from peer'),
        ],
        ['the name that the kubelet gives it', 'RegistryUnavailable: pull image: connecting'],
      ],
    ],
    [
      'image-platform-missing',
      [
        [
          'containerd',
          `rpc error: code = NotFound desc = failed to pull and unpack image "ghcr.io/acme/web:v9": no match for platform in manifest: not found`,
        ],
        ['Docker', 'Error response from daemon: no matching manifest for linux/arm64/v8 in the manifest list entries'],
        [
          'CRI-O',
          'choosing an image from manifest list docker://acme/web:v9: no image found in manifest list for architecture "arm64", variant "v8", OS "linux"',
        ],
        [
          'CRI-O with an OCI index',
          'choosing image instance: no image found in image index for architecture "s390x", variant "", OS "linux"',
        ],
      ],
    ],
    [
      'image-pull-failed',
      [
        [
          'a full disk',
          unpack(
            `failed to extract layer ${digest}: mount callback failed on /var/lib/containerd/tmpmounts/containerd-mount252943319: write /var/lib/containerd/tmpmounts/containerd-mount252943319/lib/forbidden: no space left on device: unknown`,
          ),
        ],
        [
          'a full disk by cri-dockerd',
          'failed to register layer: ApplyLayer exit status 1 stdout:  stderr: write /root/401: no space left on device',
        ],
        [
          'a missing unpigz',
          unpack(`failed to extract layer ${digest}: exec: "unpigz": executable file not found in $PATH: not found`),
        ],
        [
          'a missing unpigz behind a shell',
          unpack(`failed to extract layer ${digest}: exit status 127: /usr/bin/unpigz: not found`),
        ],
        [
          'a broken layer',
          unpack(
            `failed to extract layer ${digest}: exit status 1: unpigz: skipping: <stdin>: corrupted -- crc32 mismatch`,
          ),
        ],
        ['a layer that ends early', unpack(`failed to extract layer ${digest}: unexpected EOF`)],
        [
          'a layer of another size',
          unpack(
            `failed commit on ref "layer-${digest}": commit failed: 401 bytes read, failed size validation: 401 != 403: failed precondition`,
          ),
        ],
        [
          'a layer that the registry lost',
          unpack(
            `failed to copy: httpReadSeeker: failed open: content at https://ghcr.io/v2/acme/web/manifests/${digest} not found: not found`,
          ),
        ],
        [
          'a manifest that is too large',
          unpack(
            'failed to resolve reference "ghcr.io/acme/web:v9": rejecting 50000000 byte manifest for ghcr.io/acme/web:v9: not found',
          ),
        ],
        [
          'a node without a registry to ask',
          unpack('failed to resolve reference "ghcr.io/acme/web:v9": no resolve hosts: not found'),
        ],
        [
          'a token server without such an address',
          containerd(
            'failed to authorize: failed to fetch anonymous token: unexpected status from GET request to https://auth.r.io/token: 404 Not Found',
          ),
        ],
        ['a host that is no registry', 'reading manifest v9 in r.io/acme/web: StatusCode: 404, "<html>403 Forbidden"'],
        [
          'another such host',
          'initializing source docker://r.io/acme/web:v9: pinging container registry r.io: invalid status code from registry 404 (Not Found)',
        ],
        [
          'a snapshotter that is not there',
          unpack('failed to prepare extraction snapshot: snapshotter overlayfs: not found'),
        ],
        ['the rate limit of the kubelet itself', 'pull QPS exceeded'],
      ],
    ],
  ])('%s', (reason, messages) => {
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
  ])('%s → %s', (answer, cause) => {
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
