import { createHash } from 'node:crypto'
import type { RunRecord } from '../gate/run-record.ts'
import { writtenLines } from '../input-types.ts'
import type { Inputs } from '../inputs.ts'
import { parseReferences } from '../plan/parse-references.ts'
import type { Reference } from '../plan/target.ts'
import { counted } from '../reasons/wording.ts'
import { escapeMarkdown, safeLine } from '../report/escape.ts'
import { titleOfRecord } from '../report/headline.ts'
import { renderSummary } from '../report/summary.ts'
import type { ExtraContext } from './extra.ts'
import type { WorkflowRun } from './workflow-run.ts'

/* Names and texts that the extras write to GitHub. */

/** The maximum number of targets in the name of a gate. With more, every new target would change the name. */
const maxNamedTargets = 3
const gateNameLimit = 200

/**
 * The maximum length of a status' description (https://docs.github.com/rest/deployments/statuses). For commit statuses,
 * the limit is not documented: https://github.com/zalando/zappr/issues/378
 */
export const descriptionLimit = 140

/** The title of a status, deployment or comment that stayed open, because the job was killed or its runner was lost. */
export const noOutcomeTitle = 'The job ended before the rollout had an outcome'

/**
 * The name of the gate: the input `name` with values of the job's matrix (`distinguishingValues`). Without `name`, it
 * is made of the inputs, the workflow, the job and its matrix: `Rollout of deployment/web in shop on prod (Deploy /
 * production (eu))`. A hash (`[3f9a01]`) replaces parts that are too long, because gates of a commit must never share a
 * name.
 *
 * The name depends only on inputs, not on files or the cluster. A branch rule requires a status by its name, and a run
 * with a mistake must replace the status of an earlier run.
 */
export function gateName(
  { workflow, job }: Pick<WorkflowRun, 'workflow' | 'job'>,
  { name, resources, manifests, namespace, context, job: values }: GateInputs,
): string {
  if (name !== undefined) return addHash([name, matrixText(distinguishingValues(name, values))], [])
  const { references, invalid = [] } = parseReferences(resources, 'resources', { alone: false })
  const all = [...references, ...invalid]
  const gated = all.filter(({ exclude }) => !exclude)
  const names = distinctValues([...gated.map(referenceText), ...writtenLines(manifests).map(({ text }) => text)])
  const namespaces = gated.length === 0 ? [namespace] : distinctValues(gated.map((each) => each.namespace ?? namespace))
  const hidden = [
    ...all.filter(({ exclude, waitFor }) => exclude || waitFor !== undefined).map(referenceKey),
    ...(names.length > maxNamedTargets ? [...gated.map(referenceKey), ...names] : []),
    ...(namespaces.length > 1 ? gated.map(referenceKey) : []),
  ]
  const place = [workflow, [job, matrixText([...values.words, ...values.settings])].filter(Boolean).join(' ')]
    .filter(Boolean)
    .join(' / ')
  const words = [
    'Rollout',
    names.length > maxNamedTargets || names.length === 0 ? '' : `of ${names.join(', ')}`,
    namespaces.length === 1 && namespaces[0] !== undefined ? `in ${namespaces[0]}` : '',
    context === undefined ? '' : `on ${context}`,
    place === '' ? '' : `(${place})`,
  ]
  return addHash(words, hidden)
}

/**
 * The values that distinguish this job from the other jobs of its matrix: the words that the name does not contain. If
 * it contains all words, all are used, because each job may have this name (`Rollout of web and api`). Settings are
 * used only if there are no words, because they change. If a value is left out, jobs may have equal values, so the
 * position of the job in the matrix is added.
 */
function distinguishingValues(name: string, { words, settings, index }: Inputs['job']): readonly string[] {
  const others = words.filter((word) => !containsWord(name, word))
  const values = others.length > 0 ? others : words.length > 0 ? words : settings
  const isComplete = values.length === words.length + settings.length
  return isComplete || index === undefined ? values : [...values, `leg ${index + 1}`]
}

/** Whether a text contains a whole word: `eu-west` does not contain the word `eu`. */
function containsWord(text: string, word: string): boolean {
  const isPart = (character: string | undefined) => /[\p{L}\p{N}_./-]/u.test(character ?? '')
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!isPart(text[at - 1]) && !isPart(text[at + word.length])) return true
  return false
}

/** The values of a matrix in parentheses, as in the job names of GitHub. */
function matrixText(values: readonly string[]): string {
  return values.length === 0 ? '' : `(${values.join(', ')})`
}

/** The words in one line. A hash stands for `hidden`, the facts that they do not contain, and for text that is cut. */
function addHash(words: readonly string[], hidden: readonly string[]): string {
  const text = safeLine(words.filter(Boolean).join(' '))
  const omitted = text.length > gateNameLimit ? [...hidden, text] : hidden
  if (omitted.length === 0) return text
  // 24 bits are enough to distinguish the gates of one commit.
  const hash = `[${shortHash(JSON.stringify(distinctValues(omitted).sort()), 6)}]`
  return `${safeLine(text, gateNameLimit - hash.length - 1)} ${hash}`
}

type GateInputs = Pick<Inputs, 'name' | 'resources' | 'manifests' | 'namespace' | 'context' | 'job'>

function distinctValues<T>(values: readonly T[]): T[] {
  return [...new Set(values)]
}

/** The start of the SHA-256 of a text. @param length hexadecimal digits */
export function shortHash(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length)
}

function referenceText({ kind, name, selector }: Pick<Reference, 'kind' | 'name' | 'selector'>): string {
  if (name !== undefined) return `${kind.toLowerCase()}/${name}`
  return selector ? `${kind.toLowerCase()} -l ${selector}` : `${kind.toLowerCase()} --all`
}

/** The fields of a reference that decide which objects are gated and what is awaited, but no line and no timeouts. */
function referenceKey({ kind, name, selector, namespace, exclude, waitFor }: Reference): string {
  return JSON.stringify([kind.toLowerCase(), name, selector, namespace, exclude, waitFor])
}

/**
 * The job summary in at most `limit` characters, and a line with the gate, the commit and the log. If even the shortest
 * summary is too long, as with a thousand input errors, only the headline.
 */
export function limitedSummary(
  record: RunRecord,
  { run, commit, logUrl, name, tracked }: Pick<ExtraContext, 'run' | 'commit' | 'logUrl' | 'name' | 'tracked'>,
  limit: number,
): string {
  const link = `[${commit.slice(0, 7)}](${run.repositoryUrl}/commit/${commit})`
  const footer = `<sub>${escapeMarkdown(name)} · commit ${link} · [log](${logUrl})</sub>\n`
  const space = limit - footer.length
  // The limit in bytes keeps the limit in characters, because a character has at least one byte.
  const text = renderSummary(record, { tracked, maxBytes: space })
  if (text.length <= space) return text + footer
  const more = `The summary is too long to show here: ${counted(record.targets.length, 'target')}. See the job summary.`
  return `### ${escapeMarkdown(titleOfRecord(record))}\n\n${more}\n\n${footer}`
}
