import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { parseReferences } from '../../src/plan/parse-references.ts'
import type { Reference } from '../../src/plan/reference.ts'
import type { WaitFor } from '../../src/plan/target.ts'
import { cpuMs } from '../support/cpu.ts'
import { parameters } from '../support/thorough.ts'

/** Each reference as it could be written, with its other settings as JSON. */
function read(text: string): string[] {
  const { references, mistakes } = parseReferences(text)
  expect(mistakes).toEqual([])
  return references.map(({ exclude, kind, name, selector, namespace, clocks }: Reference) =>
    [
      `${exclude ? '!' : ''}${kind}${name === undefined ? '' : `/${name}`}`,
      selector === undefined ? '' : `-l ${selector}`,
      namespace === undefined ? '' : `-n ${namespace}`,
      Object.keys(clocks).length === 0 ? '' : JSON.stringify(clocks),
    ]
      .filter((word) => word !== '')
      .join(' '),
  )
}

function messagesOf(text: string): string[] {
  return parseReferences(text).mistakes.map(({ message }) => message)
}

it.each([
  ['deployment/web', 'deployment/web'],
  ['  Deployment/web\t', 'Deployment/web'],
  ['deployment web', 'deployment/web'],
  ['deployment "web"', 'deployment/web'],
  ['deployments.v1.apps/web', 'deployments.v1.apps/web'],
  ['deployment web api', 'deployment/web', 'deployment/api'],
  ['deploy/web svc/web', 'deploy/web', 'svc/web'],
  ['deploy,svc web', 'deploy/web', 'svc/web'],
  ['deploy,sts -l app=shop -n shop', 'deploy -l app=shop -n shop', 'sts -l app=shop -n shop'],
  ['pods --all', 'pods -l '],
  ['pods -lapp=x -nshop', 'pods -l app=x -n shop'],
  ['pods -l=app=x -n=shop', 'pods -l app=x -n shop'],
  ['pods --selector app==x --namespace=shop', 'pods -l app==x -n shop'],
  ['-n shop deployment/web', 'deployment/web -n shop'],
  [
    "pods -l 'env in (prod, stage),tier!=db,!canary,example.com/x'",
    'pods -l env in (prod, stage),tier!=db,!canary,example.com/x',
  ],
  ['job/migrate --timeout=20m', 'job/migrate {"timeoutMs":1200000}'],
  [
    'job/migrate --timeout 0 --stall-timeout=1m --milestone-timeouts "started=2m, complete=1h"',
    'job/migrate {"timeoutMs":0,"stallTimeoutMs":60000,"milestoneTimeoutsMs":{"started":120000,"complete":3600000}}',
  ],
  ['!deployment/web', '!deployment/web'],
  ['! pods -l app=x', '!pods -l app=x'],
  ['deployment/web # the shop', 'deployment/web'],
  ['deployment/we#b', 'deployment/we#b'],
])('the line "%s" is read as kubectl wait reads its arguments', (text, ...expected) => {
  // A line of excludes alone would be a mistake of its own.
  expect(read(`${text}\npod/other`)).toEqual([...expected, 'pod/other'])
})

it.each<[string, WaitFor]>([
  ['condition=Ready', { type: 'condition', condition: 'Ready', status: 'True' }],
  ['condition=Ready=False', { type: 'condition', condition: 'Ready', status: 'False' }],
  ['create', { type: 'create' }],
  ['Delete', { type: 'delete' }],
  ["jsonpath='{.status.phase}'=Running", { type: 'jsonpath', path: '{.status.phase}', value: 'Running' }],
  [`jsonpath='{.status.phase}'="Running"`, { type: 'jsonpath', path: '{.status.phase}', value: 'Running' }],
  ['jsonpath={.status.x}', { type: 'jsonpath', path: '{.status.x}' }],
  ['jsonpath=status.x', { type: 'jsonpath', path: '{.status.x}' }],
  ['jsonpath={status.x}=1', { type: 'jsonpath', path: '{.status.x}', value: '1' }],
  [
    `'jsonpath={.status.conditions[?(@.type=="Ready")].status}=True'`,
    { type: 'jsonpath', path: '{.status.conditions[?(@.type=="Ready")].status}', value: 'True' },
  ],
])('the flag --for=%s is read as kubectl wait reads it', (text, waitFor) => {
  for (const flag of [`--for=${text}`, `--for ${text}`])
    expect(parseReferences(`certificate/tls ${flag}`)).toMatchObject({ references: [{ waitFor }], mistakes: [] })
})

it('the number of a line is that in an editor, whatever ends the lines', () => {
  const text = '\n# the shop\r\ndeployment/web\r\rservice/web svc/api\n'
  expect(parseReferences(text).references.map(({ line, name }) => [line, name])).toEqual([
    [3, 'web'],
    [5, 'web'],
    [5, 'api'],
  ])
})

it.each([
  'deployment.apps/web configured',
  'deployment.apps/web unchanged',
  'deployment.apps/web created',
  'deployment.apps/web serverside-applied',
  'deployment.apps/web scaled',
  'deployment.apps/web autoscaled',
  'deployment.apps/web image updated',
  'deployment.apps/web env updated',
  'deployment.apps/web restarted',
  'deployment.apps/web rolled back',
  'deployment.apps/web skipped rollback (current template already matches revision 3)',
  'deployment.apps/web patched',
  'deployment.apps/web patched (no change)',
  'deployment.apps/web annotated',
  'deployment.apps/web labeled',
  'deployment.apps/web not labeled',
  'deployment.apps/web already paused',
  'deployment.apps/web replaced',
  'deployment.apps/web condition met',
  'deployment.apps "web" configured',
  'deployment.apps "web" successfully rolled out',
])('the printed line "%s" names a resource to gate', (text) => {
  expect(read(text)).toEqual(['deployment.apps/web'])
})

it.each([
  ['deployment.apps "web" deleted', 'deleted'],
  ['deployment.apps "web" deleted from shop namespace', 'deleted'],
  ['deployment.apps "web" force deleted from shop namespace', 'deleted'],
  ['deployment.apps/web deleted', 'deleted'],
  ['deployment.apps/web pruned', 'pruned'],
  ['deployment.apps/web created (dry run)', 'a dry run'],
  ['deployment.apps/web serverside-applied (server dry run)', 'a dry run'],
  ['deployment.apps "web" deleted from shop namespace (server dry run)', 'a dry run'],
  ["Warning: resource deployments/web isn't owned: it is missing an annotation", 'a warning'],
  ['warning: error calculating patch from openapi spec: x', 'a warning'],
  ['W0101 10:00:00.000000   12345 warnings.go:70] policy/v1beta1 is deprecated', 'a log line'],
  ['E1120 10:00:00.1 7 memcache.go:265] x', 'a log line'],
])('the printed line "%s" is skipped as %s', (text, why) => {
  expect(parseReferences(text)).toEqual({
    input: 'resources',
    references: [],
    skipped: [{ line: 1, text, why }],
    mistakes: [],
  })
})

it('a second name after TYPE/NAME is a mistake, not a participle of kubectl', () => {
  expect(messagesOf('deployment/web api')).toEqual([
    '"api" is not TYPE/NAME, as other words of the line are. Write deployment/web service/web, or deployment web api.',
  ])
  expect(read('deployment "web" "feed"')).toHaveLength(2)
})

it('a word that kubectl does not print is no part of its verb, although a participle follows', () => {
  expect(messagesOf('deployment.apps/web Web configured')).toEqual([expect.stringContaining('"Web"')])
})

it('a "!" before a printed line excludes its resource', () => {
  expect(read('service/web created\n!deployment.apps/web configured')).toEqual(['service/web', '!deployment.apps/web'])
})

it.each([
  'role.rbac.authorization.k8s.io/a\n!deployment web\n# created',
  'role.rbac.authorization.k8s.io/a\n!deployment web\n!pod x created',
  'role.rbac.authorization.k8s.io/a\n!deployment web\nserviceaccount "default" configured',
  'role.rbac.authorization.k8s.io/a created\n!deployment web\n# b serverside-applied',
  'configmap/a\n!deployment/web\nb created',
  'configmap/a\n!deployment/web created',
  'configmap/a\r\r!deployment/web\rservice/web unchanged (server dry run)',
  'Warning: resource roles/a\n! deploy --all\n# is missing\nrole.rbac.authorization.k8s.io/b configured',
])("a name with line breaks in kubectl's output adds no exclude: %j", (printed) => {
  expect(messagesOf(`deployment.apps/web configured\n${printed}`)).toContainEqual(
    expect.stringMatching(
      /^This exclude stands between lines that kubectl printed, so a name with a line break may contain it\./,
    ),
  )
})

it.each([
  'deployment.apps/web configured\nsecret/x created\n\n# as it has no status\n!secret --all\n!configmap/seed',
  '!secret --all\ndeployment.apps/web configured\nsecret/x created',
  '# for later\n\n!secret --all\n# printed\ndeployment.apps/web configured',
  'deployment/web\n!secret --all\nservice/feed',
  'deployment/web\n!secret/created\nservice/configured',
])("excludes above and below kubectl's output, and between other lines, exclude: %j", (text) => {
  expect(messagesOf(text)).toEqual([])
  expect(read(text).filter((each) => each.startsWith('!')).length).toBeGreaterThan(0)
})

const mistakesOf = (text: string) => parseReferences(text).mistakes.map(({ line, message }) => `${line}: ${message}`)

it.each([
  [
    'an upgrade',
    [
      'WARNING: Kubernetes configuration file is group-readable.',
      'Release "web" has been upgraded. Happy Helming!',
      'NAME: web',
      'LAST DEPLOYED: Thu Nov 20 10:00:00 2025',
      'NAMESPACE: shop',
      'STATUS: deployed',
      'REVISION: 2',
      'NOTES:',
      '1. Get the application URL by running these commands:',
      '  export POD_NAME=$(kubectl get pods --namespace shop -l "app=web" -o jsonpath="{.items[0].metadata.name}")',
    ],
    2,
  ],
  ['an install', ['NAME: web', 'LAST DEPLOYED: now', 'NAMESPACE: shop', 'STATUS: deployed'], 1],
  ['a first upgrade', ['Release "web" does not exist. Installing it now.', 'NAME: web', 'NAMESPACE: shop'], 1],
])('the report of Helm about %s is a mistake that names what to pass instead', (_, lines, line) => {
  expect(mistakesOf(lines.join('\n'))).toEqual([
    `${line}: This is output of Helm, which contains no resources. Pass the manifests of the release instead: helm get manifest web -n shop > rendered.yaml, and manifests: rendered.yaml.`,
  ])
})

it('the mistake about a report of Helm quotes no invalid name of a release or namespace', () => {
  expect(mistakesOf('NAME: $(x)\nLAST DEPLOYED: now\nNAMESPACE: a b')[0]).toContain('helm get manifest RELEASE > ')
})

it('a manifest in resources is a mistake that names the input manifests', () => {
  expect(mistakesOf('---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n')).toEqual([
    '2: This is a manifest, not a reference. Write it to a file, and name the file in manifests.',
  ])
  expect(mistakesOf('{\n "apiVersion": "v1"\n}')).toHaveLength(1)
})

it('a table of kubectl get is a mistake that names -o name', () => {
  expect(mistakesOf('NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    1/1     1            1           5m')).toEqual(
    ['1: This is a table of kubectl get. Print names instead: kubectl get … -o name.'],
  )
})

it.each([
  'Error from server (NotFound): error when creating "k8s/web.yaml": namespaces "shpo" not found',
  'error: unable to recognize "k8s/web.yaml": no matches for kind "Foo" in version "acme.io/v1"',
  'error validating "web.yaml": error validating data: unknown field',
  'Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout',
  'The Deployment "web" is invalid: spec.selector: Invalid value: field is immutable',
  'The connection to the server localhost:8080 was refused - did you specify the right host or port?',
  'Error: INSTALLATION FAILED: cannot re-use a name that is still in use',
  'Apply failed with 1 conflict: conflict with "entry" using apps/v1: .spec.replicas',
  'resource mapping not found for name: "x" namespace: "" from "a.yaml": no matches for kind "Widget" in version "acme.io/v1"',
  'The request is invalid',
  'The request is invalid: patch: Invalid value: "x": json: cannot unmarshal string',
  'The  "web" is invalid: spec: Required value',
  'The PodDisruptionBudget "my web" is invalid: spec: Required value',
  'The order in patch list:',
  'Error in configuration: ',
  'Server returned an unexpected response: ',
  'Server-side apply not available on the server: (unsupported)',
  'couldn\'t get current server API group list: Get "https://10.0.0.1/api": dial tcp 10.0.0.1:443: i/o timeout',
  'the server doesn\'t have a resource type "widget"',
  'the server could not find the requested resource',
  'the path "k8s/web.yaml" does not exist',
  'the namespace from the provided object "a" does not match the namespace "b". You must pass \'--namespace=a\' to perform this operation.',
  'no matches for kind "Widget" in version "acme.io/v1"',
  'unable to decode "a.yaml": no kind "Widget" is registered for version "acme.io/v1"',
  '[unable to recognize "a.yaml": no matches for kind "A", unable to recognize "b.yaml": no matches for kind "B"]',
  'error parsing a.yaml: error converting YAML to JSON: yaml: line 3: did not find expected key',
  'error when creating "a.yaml": namespaces "shpo" not found',
  'from migrate-: cannot use generate name with apply',
  'failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.x: field not declared in schema',
  "Object 'Kind' is missing in '{\"a\":1}'",
  'An error occurred force-replacing the existing object with the newly provided one:',
  'F1120 10:00:00.000000   12345 helpers.go:119] error: the server is gone',
  'panic: runtime error: invalid memory address or nil pointer dereference',
  'No resources found in shop namespace.',
  'bash: line 1: kubectl: command not found',
  '/bin/sh: 1: kubectl: not found',
  '\x1b[31mError from server (Forbidden): deployments.apps "web" is forbidden\x1b[0m',
])('the line "%s" is a mistake: the apply failed', (text) => {
  const shown = stripVTControlCharacters(text).replace(/[.: ]+$/, '')
  expect(mistakesOf(`service/web created\n${text}`)).toEqual([
    `2: The apply failed: ${shown}${shown.endsWith('?') ? '' : '.'} Correct that first. With set -o pipefail the step of the apply fails by itself.`,
  ])
})

const conflict = [
  'Apply failed with 2 conflicts: conflicts with "entry" using apps/v1:',
  '- .spec.replicas',
  '- .spec.template.spec.containers[name="app"].image',
  'Please review the fields above--they currently have other managers. Here',
  'are the ways you can resolve this warning:',
  '* If you intend to manage all of these fields, please re-run the apply',
  '  command with the `--force-conflicts` flag.',
  "  value; in this case, you'll become the manager if the other manager(s)",
  'See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts',
]

it('a conflict of a server-side apply is one mistake with its fields, and the lines around it are read', () => {
  const text = ['deployment.apps/web serverside-applied', ...conflict, 'service/web serverside-applied'].join('\n')
  const { mistakes, references } = parseReferences(text)
  expect(mistakes).toEqual([
    expect.objectContaining({
      line: 2,
      message: expect.stringContaining('using apps/v1: .spec.replicas, .spec.template'),
    }),
  ])
  expect(references.map(({ name }) => name)).toEqual(['web', 'web'])
})

it('an error that contains no line of its own form is reported with the lines that belong to it', () => {
  const text = [
    'resource mapping not found for name: "x" namespace: "" from "a.yaml": no matches for kind "Widget" in version "v1"',
    'ensure CRDs are installed first',
  ].join('\n')
  expect(mistakesOf(text)).toEqual([expect.stringMatching(/^1: The apply failed: resource mapping not found/)])
})

it.each([
  ['Waiting for deployment "web" rollout to finish: 1 of 3 updated replicas are available...'],
  ['Waiting for 1 pods to be ready...'],
  ['Flag --short has been deprecated, and will be removed in the future.'],
  ['Switched to context "prod".'],
  ['Context "prod" modified.'],
  ['User "ci" set.'],
])('the line "%s" of kubectl is information, and is skipped', (text) => {
  const { mistakes, skipped, references } = parseReferences(`${text}\ndeployment.apps/web configured`)
  expect({ mistakes, skipped, names: references.map(({ name }) => name) }).toEqual({
    mistakes: [],
    skipped: [{ line: 1, text, why: 'information' }],
    names: ['web'],
  })
})

it('colours are no part of a line', () => {
  expect(
    read('\x1b[32mdeployment.apps/web\x1b[0m \x1b[33mconfigured\x1b[0m\n\x1b[1mservice/web\x1b[m unchanged'),
  ).toEqual(['deployment.apps/web', 'service/web'])
})

it('the output of kubectl diff is a mistake that names what to pass instead', () => {
  const text = [
    'diff -u -N /tmp/LIVE-3210/apps.v1.Deployment.shop.web /tmp/MERGED-7654/apps.v1.Deployment.shop.web',
    '--- /tmp/LIVE-3210/apps.v1.Deployment.shop.web\t2025-11-20 10:00:00',
    '+++ /tmp/MERGED-7654/apps.v1.Deployment.shop.web\t2025-11-20 10:00:00',
    '@@ -1,3 +1,3 @@',
    '-        image: web:1',
  ].join('\n')
  expect(mistakesOf(text)).toEqual([
    '1: This is output of kubectl diff, which applies nothing. Pass the output of kubectl apply.',
  ])
})

it('an error of kubectl with several lines is one mistake, and the lines after it are read', () => {
  const text = [
    'service/web created',
    'The Deployment "web" is invalid: ',
    '* spec.template.metadata.labels: Invalid value: map[string]string{"app":"x"}: `selector` does not match',
    '* spec.selector: Required value',
    'Error from server: error when applying patch:',
    '{"metadata":{"annotations":{}}}',
    'to:',
    'Resource: "apps/v1, Resource=deployments", GroupVersionKind: "apps/v1, Kind=Deployment"',
    'configmap/x unchanged',
  ].join('\n')
  expect(parseReferences(text).mistakes.map(({ line }) => line)).toEqual([2, 5])
})

const alone =
  'has no name: a word alone is a kind. Write a kind and a name, like deployment/web, or add -l app=shop or --all.'
const noName = '-l and --all cannot be combined with a name. Write the kind alone, like deployments -l app=shop.'
const forms = "Write create, delete, condition=Ready, condition=Ready=False or jsonpath='{.status.phase}'=Running."

it.each([
  ['web', `"web" ${alone}`],
  ['deploy,sts', `"deploy,sts" ${alone}`],
  ['deploy,,sts --all', '"deploy,,sts" has an empty kind. Write kinds with one comma between them: deploy,sts.'],
  ['deployment/web -l app=x', noName],
  ['deployment web --all', noName],
  ['pods -l app=x --all', '-l and --all are given together. Keep one of them.'],
  ['pods --all=false', '--all takes no value. Leave out "=false".'],
  [
    'deployment/web/api',
    '"deployment/web/api" is not TYPE/NAME. Write one kind and one name with one slash between them: deployment/web.',
  ],
  [
    'deploy,svc/web',
    '"deploy,svc/web" is not TYPE/NAME. Write one kind and one name with one slash between them: deployment/web.',
  ],
  ['/web', '"/web" is not TYPE/NAME. Write one kind and one name with one slash between them: deployment/web.'],
  ["'!secret --all'", `The quotes join "!secret --all" to one word. Leave the blank outside: '!secret' --all.`],
  [
    '"deployment/web --timeout=5m"',
    `The quotes join "deployment/web --timeout=5m" to one word. Leave the blank outside: 'deployment/web' --timeout=5m.`,
  ],
  ['"deployment web"', `The quotes join "deployment web" to one word. Leave the blank outside: 'deployment' web.`],
  ['!', 'No resource is named. Write one like deployment/web.'],
  ['--timeout=5m', 'No resource is named. Write one like deployment/web.'],
  ['kubectl wait deployment/web', 'Write only the reference, without the kubectl command: deployment/web.'],
  ['deployment/web --timeout=5', '--timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.'],
  ['deployment/web --timeout', '--timeout has no value.'],
  ['pods -l ""', '-l has no value.'],
  ['deployment/web --timeout=5m --timeout=6m', '--timeout is given twice. Keep one of them.'],
  ['deployment/web --timout=5m', '"--timout" is not a flag of a reference. Did you mean --timeout?'],
  [
    'deployment/web -f x.yaml',
    '"-f" is not a flag of a reference. A reference takes --all, --for, --milestone-timeouts, --namespace, --require-change, --revision, --selector, --stall-timeout, --timeout.',
  ],
  [
    'deployment/web -web',
    '"-web" is not a flag of a reference. A reference takes --all, --for, --milestone-timeouts, --namespace, --require-change, --revision, --selector, --stall-timeout, --timeout.',
  ],
  [
    'deployment/web -n Shop',
    '"Shop" cannot be a namespace: at most 63 lower-case letters, digits and "-", a letter or digit at both ends.',
  ],
  [
    'pods -l app=x=y',
    `"app=x=y" is not a label selector. Write -l app=shop, -l 'app!=shop', -l 'app in (shop, cart)' or --all for every object.`,
  ],
  [
    'deployment/web --milestone-timeouts=redy=5m',
    '--milestone-timeouts: No kind has a milestone "redy". Did you mean ready?',
  ],
  ['certificate/tls --for=Ready', `--for cannot wait for "Ready". ${forms}`],
  ['certificate/tls --for=condition=', `--for=condition= names no condition. ${forms}`],
  ['certificate/tls --for=condition=Ready=', `--for=condition= names no status. ${forms}`],
  [
    'pod/x --for=jsonpath={.status.phase}=',
    "--for=jsonpath= has no value after its last equals sign. Write jsonpath='{.status.phase}'=Running.",
  ],
  [
    'pod/x --for=jsonpath={.a[0}=1',
    `--for=jsonpath= cannot read "{.a[0}=1". Write jsonpath='{.status.phase}'=Running, or no value for any.`,
  ],
  ['!deployment/web --timeout=5m', 'An excluded resource takes no --for, no --revision and no clocks. Leave them out.'],
  ['deployment/"web', 'A double quote is opened and never closed. Close it.'],
])('the line %s is a mistake that contains its correction', (text, message) => {
  const { references, mistakes } = parseReferences(`\n${text}`, 'resources')
  expect(references).toEqual([])
  expect(mistakes).toEqual([{ input: 'resources', line: 2, message }])
})

it.each(['', ' \n\n', '# nothing\n'])('the input %j is a mistake: no resource is named', (text) => {
  expect(messagesOf(text)).toEqual([
    'No resource is named. Write one reference per line, like deployment/web, or pass the output of kubectl apply.',
  ])
})

it('an empty name is a mistake', () => {
  expect(messagesOf('deployment "" web')).toEqual([
    '"deployment" has an empty name: is a variable not set? Write deployment/NAME.',
  ])
})

it('an input of excludes alone is a mistake', () => {
  expect(messagesOf('!deployment/web')).toEqual([
    'Every line is an exclude ("!"). Name a resource to gate, like deployment/web.',
  ])
})

it('the mistakes of all lines are collected while valid lines are read', () => {
  const { references, mistakes } = parseReferences('deployment\nservice/web\npods --for=x --timeout=y\n')
  expect(references.map(({ name }) => name)).toEqual(['web'])
  expect(mistakes.map(({ line }) => line)).toEqual([1, 3, 3])
})

const piece = fc.oneof(
  fc.string(),
  fc.constantFrom(
    ...['deployment/web', ' ', '"', "'", '\\', '#', '!', '--for=', 'jsonpath=', '{', '=', '==', '-l', '-n', '--', '/'],
    ...['--timeout', '(', ')', ',', ' in ', '\n', '\r', '\0', 'configured', '(dry run)', '--__proto__=x', 'deleted'],
  ),
)

it('any text is read without an error as references, skipped lines or mistakes', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const { references, skipped, mistakes } = parseReferences(pieces.join(''))
      expect(references.length + skipped.length + mistakes.length).toBeGreaterThan(0)
      for (const { kind, name, selector } of references) {
        expect(kind).not.toBe('')
        expect(name === '').toBe(false)
        expect((name === undefined) === (selector === undefined)).toBe(false)
      }
    }),
    parameters,
  )
})

it.each([
  ['blanks', ' '.repeat(130_000)],
  ['blanks before a comment', `deployment/web${' '.repeat(130_000)}#`],
  ['quotes', `pod/x --for=jsonpath={.a}=${'\'"'.repeat(60_000)}`],
  ['equals signs', `pod/x --for=jsonpath=${'='.repeat(130_000)}`],
  ['brackets', `pod/x --for=jsonpath={.${'['.repeat(130_000)}}`],
  ['a long selector', `pods -l '${'a-'.repeat(60_000)}'`],
  ['a selector of dashes', `pods -l '${'a-.'.repeat(600)}!'`],
  ['open parentheses', `pods -l '${'a in (,'.repeat(280)}'`],
  ['a long duration', `pod/x --timeout=${'1h'.repeat(60_000)}`],
  ['a long milestone', `pod/x --milestone-timeouts=${'x'.repeat(130_000)}=1s`],
  ['kinds times names', `${'a,'.repeat(32_000)}a${' b'.repeat(32_000)}`],
  ['many lines', 'a b c d e f g h\n'.repeat(8_000)],
  ['many flags', `pod/x ${'--x '.repeat(30_000)}`],
])('a long input of %s is read within 2 s of CPU time', (_, text) => {
  expect(cpuMs(() => parseReferences(text))).toBeLessThan(2_000)
})
