import type { PathStep } from '../../src/cluster/field-paths.ts'
import { looksLikeManifests } from '../../src/plan/kubectl-output.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'
import { rows, titled } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const parse = (text: string, file = 'k8s/web.yaml') => parseManifests(text, file)
const placesOf = (text: string) =>
  parse(text).references.map(({ kind, name, namespace, line }) => `${line} ${kind} ${namespace ?? ''}/${name}`)
const messagesOf = (text: string, file?: string) =>
  parse(text, file).mistakes.map(({ line, message }) => `${line}: ${message}`)

const deployment = `# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    team: shop
spec:
  selector:
    matchLabels: { app: web }
  template:
    spec:
      containers:
        - name: sidecar
          image: proxy:v1
        - env:
            - name: PASSWORD
              valueFrom:
                secretKeyRef:
                  name: db
                  key: password
          name: app
          image: app:v1
          livenessProbe:
            httpGet: { path: /, port: 80 }
`

const cases: [what: string, text: string, places: string[]][] = [
  ['of one document', deployment, ['2 Deployment /web']],
  [
    'of many documents, empty ones left out',
    '---\n# nothing\n---\napiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: shop}\n---\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n...\n',
    ['4 Service shop/a', '9 Pod /b'],
  ],
  [
    'of a List, and of a list within it',
    'apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: a}\n- kind: List\n  apiVersion: v1\n  items:\n    - apiVersion: v1\n      kind: Pod\n      metadata: {name: b}\n',
    ['4 Service /a', '10 Pod /b'],
  ],
  [
    'of a typed list, whose items may lack their kind',
    'apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: a}\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: b}\n',
    ['4 Deployment /a', '5 Deployment /b'],
  ],
  [
    'of JSON objects one after another, as kubectl create -o json prints them',
    '{\n    "apiVersion": "v1",\n    "kind": "Service",\n    "metadata": {\n        "name": "a"\n    }\n}\n{\n"apiVersion": "v1",\n"kind": "Pod",\n"metadata":\n{\n"name": "b"\n}\n}\n',
    ['1 Service /a', '8 Pod /b'],
  ],
  [
    'of JSON objects of a line each',
    '\n{"apiVersion":"v1","kind":"Service","metadata":{"name":"a","labels":{"x":"}\\"{"}}}\n{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}\n',
    ['2 Service /a', '3 Pod /b'],
  ],
  [
    'of JSON objects without a line break between them',
    '{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}',
    ['1 Service /a', '2 Pod /b'],
  ],
  [
    'of an empty List and another document',
    'kind: List\napiVersion: v1\nitems: []\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}',
    ['5 Pod /b'],
  ],
  [
    'of JSON',
    '{\n\t"apiVersion": "v1",\n\t"kind": "List",\n\t"items": [\n\t\t{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}\n\t]\n}',
    ['5 Pod /a'],
  ],
  [
    'of a kind of its own that ends in List',
    'apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\nspec: {}',
    ['1 AllowList /a'],
  ],
  [
    'with anchors, aliases and merges',
    'x: &m {name: a}\napiVersion: v1\nkind: Pod\nmetadata:\n  <<: *m\n  labels: {a: &l b, c: *l}\n',
    ['1 Pod /a'],
  ],
  [
    'with a byte order mark and Windows line ends',
    '\ufeffapiVersion: v1\r\nkind: Pod\r\nmetadata:\r\n  name: a\r\n',
    ['1 Pod /a'],
  ],
  [
    'with names that only their group allows',
    'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: "system:x"}',
    ['1 ClusterRole /system:x'],
  ],
  [
    'of a kustomization of Flux',
    'apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}',
    ['1 Kustomization /a'],
  ],
]
it.each(cases)('objects %s are read with their lines', (_, text, places) => {
  expect(messagesOf(text)).toEqual([])
  expect(placesOf(text)).toEqual(places)
})

it('objects are read as kubectl reads YAML: octal numbers, yes and no, the last of equal keys', () => {
  const text =
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {mode: 0644, on: yes, mode2: 1, mode2: 2, at: 2024-01-01, time: 1:30}'
  expect(parse(text).references[0]?.manifest?.object['spec']).toEqual({
    mode: 420,
    true: true,
    mode2: 2,
    at: '2024-01-01',
    time: '1:30',
  })
})

it('objects whose name the server generates are reported, not gated', () => {
  const text = 'apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: migrate-}'
  expect(parse(text)).toMatchObject({
    references: [],
    mistakes: [],
    skipped: [{ file: 'k8s/web.yaml', line: 1, text: 'job/migrate-…', why: expect.stringContaining('kubectl create') }],
  })
})

const lines: [path: PathStep[], line: number][] = [
  [[], 2],
  [['kind'], 3],
  [['metadata', 'annotations', 'team'], 7],
  [['spec', 'selector', 'matchLabels', 'app'], 10],
  [['spec', 'template', 'spec', 'containers', 0, 'image'], 15],
  [['spec', 'template', 'spec', 'containers', { name: 'app' }], 16],
  [['spec', 'template', 'spec', 'containers', { name: 'app' }, 'image'], 23],
  [
    [
      'spec',
      'template',
      'spec',
      'containers',
      { name: 'app' },
      'env',
      { name: 'PASSWORD' },
      'valueFrom',
      'secretKeyRef',
      'key',
    ],
    21,
  ],
  [['spec', 'template', 'spec', 'containers', { name: 'app' }, 'livenessProbe', 'httpGet', 'port'], 25],
]
it.each(titled(lines, ([path]) => path))('a field has a line: %s', (_, [path, line]) => {
  expect(parse(deployment).references[0]?.manifest?.lineOf(path)).toBe(line)
})

it('a field that is not written has the line of the nearest enclosing field', () => {
  const lineOf = parse(deployment).references[0]?.manifest?.lineOf
  expect(lineOf?.(['spec', 'template', 'spec', 'containers', { name: 'app' }, 'resources', 'limits'])).toBe(16)
  expect(lineOf?.(['spec', 'template', 'spec', 'containers', { name: 'other' }, 'image'])).toBe(13)
  expect(lineOf?.(['spec', 'replicas', 'x'])).toBe(8)
})

it('the line of a field is found within lists, further documents, and behind aliases', () => {
  const text =
    'kind: A\n---\napiVersion: v1\nkind: List\nitems:\n  - apiVersion: v1\n    kind: Pod\n    metadata:\n      name: a\n      labels: &l\n        app: web\n    spec: *l\n'
  const [pod] = parse(text).references
  expect(pod?.manifest?.lineOf(['metadata', 'name'])).toBe(9)
  expect(pod?.manifest?.lineOf(['spec', 'app'])).toBe(11)
})

describe('mistakes', () => {
  const start = 'apiVersion: v1\nkind: Pod\n'
  const cases: [what: string, text: string, messages: (string | RegExp)[]][] = [
    ['no YAML', `${start}metadata: {name: a\nspec: x\n`, [/^4: This is not valid YAML: .*\.$/]],
    [
      'one document that is no YAML, among others',
      `a: 'x\n---\n${start}metadata: {name: "B"}`,
      [/^\d: This is not valid YAML/],
    ],
    [
      'a template',
      `{{- if .Values.web }}\n${start}{{- end }}`,
      ['1: This is a template that is not rendered. Render it first, as helm template does, and name the result.'],
    ],
    [
      'a placeholder of Helm as the name',
      `${start}metadata:\n  name: {{ .Values.name }}`,
      [
        '4: metadata.name contains a placeholder that is not filled in. Render the manifest first, and name the result.',
      ],
    ],
    [
      'a placeholder of envsubst as the name',
      `${start}metadata: {name: "web-\${VERSION}"}`,
      [/^3: metadata.name contains a placeholder/],
    ],
    [
      'a placeholder as kind and namespace',
      'apiVersion: v1\nkind: $KIND\nmetadata: {name: a, namespace: "$(NS)"}',
      [/^2: kind contains a/, /^3: metadata.namespace contains a/],
    ],
    [
      'nothing that an object needs',
      '# values\nreplicas: 3',
      [
        '2: This object has no apiVersion, kind and metadata.name. If the file is not a manifest, exclude it: !k8s/web.yaml',
      ],
    ],
    [
      'no name',
      `${start}metadata: {labels: {}}`,
      ['1: This object has no metadata.name. If the file is not a manifest, exclude it: !k8s/web.yaml'],
    ],
    [
      'a number as the name',
      `${start}metadata:\n  name: 123`,
      ['4: metadata.name is not a string. Write it in quotes: "123".'],
    ],
    ['a name that cannot be', `${start}metadata:\n  name: Web`, [/^4: "Web" cannot be a name.* Did you mean web\?$/]],
    [
      'a namespace that cannot be',
      `${start}metadata:\n  name: a\n  namespace: A_B`,
      [/^5: "A_B" cannot be a namespace/],
    ],
    ['a text', 'just words', ['1: This is not a Kubernetes object: it has no fields.']],
    ['no object', '# nothing\n---\n', ['undefined: There is no object in the file.']],
    ['an alias without an anchor', `${start}metadata: *x`, [/^1: Unresolved alias/]],
    [
      'an alias that names itself',
      `${start}metadata: &x {name: a, x: *x}`,
      [/^1: It is nested more than 200 levels deep, or an alias contains/],
    ],
    [
      'annotations, each at its line',
      `${start}metadata:\n  name: a\n  annotations:\n    rollout-gate/timeout: "5"\n    rollout-gate/for: later\n    rollout-gate/skip: true\n    rollout-gate/timout: 5m`,
      [
        '9: There is no annotation "rollout-gate/timout". Did you mean rollout-gate/timeout?',
        '6: rollout-gate/timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.',
        '8: rollout-gate/skip is not a string. Write its value in quotes: "true".',
        /^7: rollout-gate\/for: --for cannot wait for "later"/,
      ],
    ],
  ]
  it.each(cases)('a mistake is reported at its line: %s', (_, text, messages) => {
    const found = messagesOf(text)
    for (const message of messages) {
      expect(found).toContainEqual(typeof message === 'string' ? message : expect.stringMatching(message))
    }
    expect(found).toHaveLength(messages.length)
  })

  it.each(rows<string>(data, 'a mistake in YAML does not quote the value'))(
    'a mistake in YAML does not quote the value: %s',
    (value) => {
      const found = messagesOf(`${start}metadata:\n  name: a\ndata:\n  password: ${value}`)
      expect(found.join()).not.toContain('s3cret')
      expect(found.join()).not.toMatch(/undefined|[:…]\.$/)
    },
  )

  it('a mistake in a directive does not quote it', () => {
    expect(messagesOf(`%s3cret s3cret\n---\n${start}metadata: {name: a}`).join()).not.toContain('s3cret')
  })

  it.each([
    ['kustomization.yaml', 'resources: [web.yaml]', /kubectl kustomize/],
    ['base/x.yaml', 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization', /kubectl kustomize/],
    ['chart/Chart.yaml', 'apiVersion: v2\nname: web\nversion: 1.0.0', /helm template/],
  ])('a file that is only the source of manifests is a mistake: %s', (file, text, message) => {
    expect(messagesOf(text, file)).toEqual([expect.stringMatching(message)])
  })

  it('a template of many documents is one mistake', () => {
    const part = '{{- if .Values.web }}\nkind: A\n{{- end }}\n'
    expect(messagesOf(`${part}---\n${part}`)).toHaveLength(1)
  })

  it('an alias bomb is a mistake before it uses time or memory', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join()}]`)
    expect(messagesOf(`l0: &l0 [x]\n${levels.join('\n')}`)).toEqual([
      expect.stringMatching(/^1: Excessive alias count/),
    ])
  })

  it('repeated aliases of something large are a mistake', () => {
    const large = `[${Array(20_000).fill('x').join()}]`
    const text = `a: &a ${large}\nb: [${Array(900).fill('*a').join()}]`
    expect(messagesOf(text)).toEqual(['1: Its aliases expand to more than 1000000 values.'])
  })

  it('nesting without end is a mistake', () => {
    expect(messagesOf(`a: ${'['.repeat(5_000)}${']'.repeat(5_000)}`)).toHaveLength(1)
  })

  it('fields with the names of properties of JavaScript objects are read', () => {
    const text = `${start}metadata: {name: a, annotations: {__proto__: x, constructor: "y"}}\n__proto__: {a: 1}`
    expect(messagesOf(text)).toEqual([])
    expect(parse(text).references[0]?.manifest?.lineOf(['toString'])).toBe(1)
  })
})

const withAnnotations = (text: string) =>
  parse(`apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {${text}}`)

it('annotations set the clocks and the definition of ready of a target', () => {
  const text = 'rollout-gate/timeout: 5m, rollout-gate/stall-timeout: "0", rollout-gate/for: condition=Ready, other: x'
  expect(withAnnotations(text).references).toMatchObject([
    {
      clocks: { timeoutMs: 300_000, stallTimeoutMs: 0 },
      waitFor: { type: 'condition', condition: 'Ready', status: 'True' },
    },
  ])
})

it('annotations leave an object out, which is reported', () => {
  expect(withAnnotations('rollout-gate/skip: "true"')).toMatchObject({
    references: [],
    skipped: [{ file: 'k8s/web.yaml', line: 1, text: 'pod/a', why: 'rollout-gate/skip' }],
    mistakes: [],
  })
  expect(withAnnotations('rollout-gate/skip: "false"').references).toHaveLength(1)
})

it.each([
  deployment,
  '---\n- apiVersion: v1',
  '{"apiVersion": "v1"}',
  '[]',
  'kind: X\n"apiVersion": v1',
  '  apiVersion: v1',
])('a text on standard input is manifests (%#)', (text) => expect(looksLikeManifests(text)).toBe(true))
it.each(['deployment.apps/web configured\n', '# none\n', 'deployment/web --for=condition=Ready', ''])(
  'a text on standard input is not manifests: %j',
  (text) => expect(looksLikeManifests(text)).toBe(false),
)

it('what kubectl prints besides the objects is left out, and the lines keep their numbers', () => {
  const text = [
    'Warning: batch/v1beta1 CronJob is deprecated',
    'I0101 10:00:00.000000   12345 x.go:70] x',
    '{',
    '"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}',
    '}',
  ].join('\n')
  expect(placesOf(text)).toEqual(['3 Pod /b'])
})

it('an error among the objects that kubectl prints is a mistake: the apply failed', () => {
  const text = [
    'apiVersion: v1',
    'kind: Pod',
    'metadata: {name: b}',
    'The Deployment "web" is invalid: ',
    '* spec.a: Required value',
    '* spec.b: Required value',
  ].join('\n')
  expect(messagesOf(text)).toEqual([
    '4: The apply failed: The Deployment "web" is invalid: spec.a: Required value, spec.b: Required value. Correct that first. With set -o pipefail the step of the apply fails by itself.',
  ])
})
