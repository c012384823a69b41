import type { DeniedAccess } from '../cluster/failures.ts'
import { isPodSubject, subjectText } from '../cluster/objects.ts'
import type { HintFacts, HintTarget, HintWords } from './spec.ts'

/* Phrases that the sentences and hints of several reasons share. */

/** `1 pod`, `3 pods` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The first names of a list, and the number of the others: `web, api and 3 more`. */
export function listNames(names: readonly string[], limit: number): string {
  const rest = names.length - limit
  return `${names.slice(0, limit).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/** The text of a template such as ` (exit code ${exitCode})`; empty if one of its values is absent or empty. */
export function ifPresent(texts: TemplateStringsArray, ...values: readonly (string | number | undefined)[]): string {
  return values.some((value) => (value ?? '') === '') ? '' : String.raw({ raw: texts }, ...values)
}

/** The maximum length of a name in a headline. */
export const nameLimit = 70

/** A phrase in braces in a title. Groups: its article, the phrase without article, its last word. */
const titlePhrase = /\{((?:the |an? )?)([^}]*?(\w+))\}/

/**
 * The title of a reason with a name. The last word of the phrase in braces is the field that contains the name:
 * `{the image} could not be pulled` becomes `image app:v2 could not be pulled`. Without a name, the phrase remains.
 */
export function namedTitle(title: string, fields: Readonly<Record<string, unknown>> = {}): string {
  return title.replace(titlePhrase, (_, article: string, phrase: string, field: string) => {
    const name = fields[field]
    return typeof name === 'string' ? `${phrase} ${shortenMiddle(name, nameLimit)}` : `${article}${phrase}`
  })
}

/** The headline of a container that has ended: `container app keeps crashing (exit code 3)`. */
export function titleWithExitCode({ exitCode }: Exit, _facts: unknown, title: string): string {
  return `${title}${ifPresent` (exit code ${exitCode})`}`
}

/** Adds the words for the text of a hint to its facts. */
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
    operatorCommand: (template) => (template === undefined ? undefined : fillCommand(target, template)),
    setting: (input, value) => (usesFlags ? `--${input}${ifPresent`=${value}`}` : `${input}${ifPresent`: ${value}`}`),
  }
}

function fillCommand({ kind, name, namespace = '' }: HintTarget, template: string): string | undefined {
  // The object of a Helm revision is named web.v7.
  const release = name.slice(0, name.lastIndexOf('.v'))
  const values = { '{kind}': kind.toLowerCase(), '{name}': name, '{namespace}': namespace, '{release}': release }
  let filled = template
  for (const [placeholder, value] of Object.entries(values)) {
    if (template.includes(placeholder) && shellWord(value) !== value) return undefined
    filled = filled.replaceAll(placeholder, () => value)
  }
  return `\`${filled}\``
}

/** A kubectl command without a namespace, as inline code. */
export function clusterCommand(...words: readonly string[]): string {
  return `\`kubectl ${words.map(shellWord).join(' ')}\``
}

function shellWord(word: string): string {
  const safe = word.replaceAll('`', '')
  return /^[\w./:=,@%+{}-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}

/** Shortens a long text in the middle, because start and end distinguish it best. Raw text: renderers escape it. */
export function shortenMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const tailLength = Math.floor((limit - 1) / 3)
  const head = text.slice(0, limit - 1 - tailLength)
  const tail = text.slice(text.length - tailLength)
  // A cut must not leave half a character.
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…${tail.isWellFormed() ? tail : tail.slice(1)}`
}

/** How a container ended. */
export interface Exit {
  readonly exitCode?: number
  readonly signal?: number
}

/** The usual meanings of exit codes. */
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
export function exitText({ exitCode, signal }: Exit): string {
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
 * The log line that most likely shows the cause, and the command for the whole log. If the log shows a program for
 * another architecture, the text is that hint instead.
 * @param shape.isPrevious whether the container was restarted in its pod, so that the previous log is needed
 * @param shape.isNamed whether the sentence before already names the container
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
  // If the present log is gone, the previous log helps as well: the container usually fails in the same way.
  if (lostLogs?.present && !ofPrevious)
    return quote || `${log} is gone from the node. With \`stream-logs\`, the job log shows it while it is written.`
  const start = quote === '' ? `${log} may show why` : `${quote} The whole log`
  const { subject, container } = problem ?? {}
  if (subject === undefined || !isPodSubject(subject)) return `${start}.`
  const name = container === undefined ? [] : ['-c', container]
  return `${start}: ${command('logs', subjectText(subject), ...name, ...(ofPrevious ? ['--previous'] : []))}.`
}

/** The prefix in the user name of a ServiceAccount; namespace and name follow. */
const serviceAccount = 'system:serviceaccount:'
/** Differs from the name in examples/role.yaml, because this Role may exist already. */
const roleName = 'rollout-gate-reader'
/** The maximum number of Roles for which commands are shown: more commands would fill the log. */
const maxRoles = 4

/** The kubectl commands that grant the denied access: one Role with its binding for each user and namespace. */
export function describeGrants(denied: readonly DeniedAccess[]): string {
  const roles = [
    ...Map.groupBy(denied, ({ user, namespace }) => JSON.stringify([user, namespace ?? null])).values(),
  ].flatMap((accesses) => grantText(accesses) ?? [])
  const more = roles.length - maxRoles
  return [...roles.slice(0, maxRoles), ...(more > 0 ? [`The same is missing in ${more} more namespaces.`] : [])].join(
    ' ',
  )
}

function grantText(accesses: readonly DeniedAccess[]): string | undefined {
  const [first] = accesses
  if (first === undefined) return undefined
  const { user, namespace } = first
  const resources = new Set(accesses.flatMap(grantedResources))
  const [place, kind, scope] =
    namespace === undefined
      ? ['in the whole cluster', 'clusterrole', []]
      : [`in namespace ${namespace}`, 'role', ['-n', namespace]]
  const verbs = [...resources].every((resource) => resource.includes('/')) ? 'get' : 'get,list,watch'
  const rules = [`--verb=${verbs}`, `--resource=${[...resources].join(',')}`]
  const role = clusterCommand('create', kind, roleName, ...rules, ...scope)
  const binds = [
    `--${kind}=${roleName}`,
    user.startsWith(serviceAccount) ? `--serviceaccount=${user.slice(serviceAccount.length)}` : `--user=${user}`,
  ]
  const binding = clusterCommand('create', `${kind}binding`, roleName, ...binds, ...scope)
  return `Grant user ${user} what is missing ${place}: ${role}, then ${binding}.`
}

/** The resources to grant. Access to pods includes their logs, which explain a failure. */
function grantedResources({ resource, group }: DeniedAccess): readonly string[] {
  const name = group === '' ? resource : `${resource}.${group}`
  return name === 'pods' ? ['pods', 'pods/log'] : [name]
}
