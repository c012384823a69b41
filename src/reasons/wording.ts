import type { DeniedAccess } from '../cluster/failures.ts'
import { isPodSubject, subjectText } from '../cluster/objects.ts'
import type { HintFacts, HintTarget, HintWords } from './spec.ts'

/* Words that the sentences and hints of several reasons share. */

/** `1 pod`, `3 pods` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The first names, and how many more there are: `web, api and 3 more`. */
export function listNames(names: readonly string[], limit: number): string {
  const rest = names.length - limit
  return `${names.slice(0, limit).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/**
 * A text with values, or an empty text if one of the values is absent or empty: ` (exit code 3)`, `: ` and the answer of a
 * registry.
 */
export function ifPresent(texts: TemplateStringsArray, ...values: readonly (string | number | undefined)[]): string {
  return values.some((value) => (value ?? '') === '') ? '' : String.raw({ raw: texts }, ...values)
}

/** The maximum length of a name in a headline. */
export const nameLimit = 70

/** The phrase of a title that may get a name: its article, the phrase itself, and its last word. */
const titlePhrase = /\{((?:the |an? )?)([^}]*?(\w+))\}/

/**
 * The title of a reason, in which the phrase in braces gets the name that the field of its last word contains: from
 * `{the image} could not be pulled` to `image app:v2 could not be pulled`. Without a name, the phrase remains.
 */
export function namedTitle(title: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return title.replace(titlePhrase, (_, article: string, phrase: string, field: string) => {
    const name = fields[field]
    return typeof name === 'string' ? `${phrase} ${withoutMiddle(name, nameLimit)}` : `${article}${phrase}`
  })
}

/** The headline of a container that ended: `container app keeps crashing (exit code 3)`. */
export function withExitCode({ exitCode }: Exit, _facts: unknown, title: string): string {
  return `${title}${ifPresent` (exit code ${exitCode})`}`
}

/** The facts for a hint, with the words that hints are made of. */
export function hintWords(facts: HintFacts): HintWords {
  const { target, problem, spec, usesFlags } = facts
  const { kind, name, namespace, selector } = target
  const { image = spec?.image ?? 'the image' } = (problem?.detail ?? {}) as { readonly image?: string }
  const word = kind.toLowerCase()
  const all = selector === '' ? ['--all'] : ['-l', selector ?? '']
  const ofTarget = selector === undefined ? [`${word}/${name}`] : [word, ...all]
  const ofPod = problem !== undefined && isPodSubject(problem.subject) ? [subjectText(problem.subject)] : ofTarget
  const command = (...words: readonly string[]) =>
    clusterCommand(...words, ...(namespace === undefined ? [] : ['-n', namespace]))
  return {
    ...facts,
    name: `${word}/${name}`,
    theImage: image,
    theContainer:
      problem?.container === undefined
        ? 'the container'
        : `${problem.isInit ? 'init container' : 'container'} ${problem.container}`,
    inNamespace: ifPresent` in namespace ${namespace}`,
    describeTarget: command('describe', ...ofTarget),
    describePod: command('describe', ...ofPod),
    command,
    operatorCommand: (template) => (template === undefined ? undefined : filledCommand(target, template)),
    setting: (input, value) => (usesFlags ? `--${input}${ifPresent`=${value}`}` : `${input}${ifPresent`: ${value}`}`),
  }
}

function filledCommand({ kind, name, namespace = '' }: HintTarget, template: string): string | undefined {
  // A revision of Helm is named web.v7.
  const release = name.slice(0, name.lastIndexOf('.v'))
  const values = { '{kind}': kind.toLowerCase(), '{name}': name, '{namespace}': namespace, '{release}': release }
  let filled = template
  for (const [placeholder, value] of Object.entries(values)) {
    if (template.includes(placeholder) && quoted(value) !== value) return undefined
    filled = filled.replaceAll(placeholder, () => value)
  }
  return `\`${filled}\``
}

/** A kubectl command without a namespace, as inline code. */
export function clusterCommand(...words: readonly string[]): string {
  return `\`kubectl ${words.map(quoted).join(' ')}\``
}

function quoted(word: string): string {
  const safe = word.replaceAll('`', '')
  return /^[\w./:=,@%+{}-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}

/** Shortens a long text in the middle: its start and end distinguish it. Raw text: renderers escape it. */
export function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const tailLength = Math.floor((limit - 1) / 3)
  const head = text.slice(0, limit - 1 - tailLength)
  const tail = text.slice(text.length - tailLength)
  // A cut must not leave half a character.
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…${tail.isWellFormed() ? tail : tail.slice(1)}`
}

/** The end of a container. */
export interface Exit {
  readonly exitCode?: number
  readonly signal?: number
}

/** The usual meanings of exit codes; a program may give others its own meaning. */
const exitCodes: Readonly<Record<number, string>> = {
  126: 'a command cannot be run: no program, or no permission',
  127: 'a command was not found',
  132: 'illegal instruction',
  134: 'aborted',
  135: 'bus error',
  137: 'killed',
  139: 'segmentation fault',
  143: 'ended by SIGTERM',
}

/** How a container ended: `exited with code 137 (killed)`, `was ended by signal 11`. */
export function exited({ exitCode, signal }: Exit): string {
  if (signal) return `was ended by signal ${signal}`
  const meaning = exitCode === undefined ? undefined : exitCodes[exitCode]
  return `exited with code ${exitCode ?? 'unknown'}${ifPresent` (${meaning})`}`
}

/** Labels as in kubectl: `app=web,tier=front`. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

/** Hint for an image that was built for another platform than the node's. */
export function platformHint({ theImage }: HintWords): string {
  return `Build ${theImage} for the architecture of the cluster's nodes: \`docker buildx build --platform …\`. ${clusterCommand('get', 'nodes', '-L', 'kubernetes.io/arch')} shows it.`
}

/**
 * The line of the container's log that most likely shows the cause, and the command for the whole log; what to do, if the
 * log shows a program for another architecture.
 * @param shape.isPrevious the container was restarted in its pod, so its log is that of the previous run
 * @param shape.isNamed the sentence before already names the container
 */
export function logHint(words: HintWords, { isPrevious = false, isNamed = false } = {}): string {
  const { problem, logLine, lostLogs, theContainer, command } = words
  if (words.isOfOtherArchitecture) return platformHint(words)
  const log = isNamed ? 'Its log' : `The log of ${theContainer}`
  const quote =
    logLine === undefined
      ? ''
      : `The last ${logLine.isError ? 'error' : 'line'} that ${isNamed ? 'it' : theContainer} logged is "${logLine.text}".`
  const ofPrevious = isPrevious && !problem?.isReplaced && !lostLogs?.previous
  // If one log is gone, the log of the other run is worth reading: the container fails in the same way.
  if (lostLogs?.present && !ofPrevious)
    return quote || `${log} is gone from the node. With \`stream-logs\`, the job log shows it while it is written.`
  const start = quote === '' ? `${log} may show why` : `${quote} The whole log`
  const { subject, container } = problem ?? {}
  if (subject === undefined || !isPodSubject(subject)) return `${start}.`
  const name = container === undefined ? [] : ['-c', container]
  return `${start}: ${command('logs', subjectText(subject), ...name, ...(ofPrevious ? ['--previous'] : []))}.`
}

/** Begins the user name of a ServiceAccount, before its namespace and name. */
const serviceAccount = 'system:serviceaccount:'
/** The Role has its own name, because a Role of examples/role.yaml may exist already. */
const roleName = 'rollout-gate-reader'
/** The maximum number of namespaces for which commands are shown: more would fill the log. */
const maxRoles = 4

/** The kubectl commands that grant all this access: one Role with its binding for each user and namespace. */
export function describeGrants(denied: readonly DeniedAccess[]): string {
  const roles = [
    ...Map.groupBy(denied, ({ user, namespace }) => JSON.stringify([user, namespace ?? null])).values(),
  ].flatMap((accesses) => roleOf(accesses) ?? [])
  const more = roles.length - maxRoles
  return [...roles.slice(0, maxRoles), ...(more > 0 ? [`The same is missing in ${more} more namespaces.`] : [])].join(
    ' ',
  )
}

function roleOf(accesses: readonly DeniedAccess[]): string | undefined {
  const [first] = accesses
  if (first === undefined) return undefined
  const { user, namespace } = first
  const resources = new Set(accesses.flatMap(resourcesOf))
  const [place, kind, scope] =
    namespace === undefined
      ? ['in the whole cluster', 'clusterrole', []]
      : [`in namespace ${namespace}`, 'role', ['-n', namespace]]
  const verbs = [...resources].every((resource) => resource.includes('/')) ? 'get' : 'get,list,watch'
  const rules = [`--verb=${verbs}`, `--resource=${[...resources].join(',')}`]
  const role = clusterCommand('create', kind, roleName, ...rules, ...scope)
  const binding = clusterCommand(
    'create',
    `${kind}binding`,
    roleName,
    `--${kind}=${roleName}`,
    bindingFlag(user),
    ...scope,
  )
  return `Grant user ${user} what is missing ${place}: ${role}, then ${binding}.`
}

/** Logs are part of pods: without them, a failure is not explained. */
function resourcesOf({ resource, group }: DeniedAccess): readonly string[] {
  const name = group === '' ? resource : `${resource}.${group}`
  return name === 'pods' ? ['pods', 'pods/log'] : [name]
}

/** The flag of `kubectl create rolebinding` that names a user. */
function bindingFlag(user: string): string {
  return user.startsWith(serviceAccount) ? `--serviceaccount=${user.slice(serviceAccount.length)}` : `--user=${user}`
}
