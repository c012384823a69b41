import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** A workflow step. */
export interface Step {
  id?: string
  if?: string
  uses?: string
  with?: Record<string, string>
  run?: string
  shell?: string
  env?: Record<string, string>
}

const published = /^rollout-gate\/rollout-gate(\/merge)?@/

/**
 * A code block of a language below a heading of a document; the namespace of the documentation is replaced.
 * @param index which one, from 0
 */
export function documentedBlock(
  document: string,
  heading: string,
  language: string,
  namespace: string,
  index = 0,
): string {
  const text = readFileSync(join(import.meta.dirname, '../..', document), 'utf8')
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const block = section.split(`\n\`\`\`${language}\n`)[index + 1]?.split('\n```')[0]
  if (block === undefined) throw new Error(`${document} has no block of ${language} below "${heading}"`)
  return block.replaceAll(/\bshop\b/g, namespace)
}

/**
 * The steps of a YAML block below a heading of a document: a list of steps, or a workflow with one job. The published
 * action has the id `gate`. Without the checkout, which every run has.
 * @param index which block, from 0
 */
export function documentedSteps(document: string, heading: string, namespace: string, index = 0): Step[] {
  const block = parse(documentedBlock(document, heading, 'yaml', namespace, index))
  const steps: Step[] = Array.isArray(block)
    ? block
    : Object.values<{ steps: Step[] }>(block.jobs).flatMap((job) => job.steps)
  return steps
    .filter(({ uses }) => !uses?.startsWith('actions/checkout@'))
    .map((step) => (published.test(step.uses ?? '') ? { ...step, id: 'gate' } : step))
}

/** The documented step that logs in to the cluster. The recipes are parts of a job that has done so. */
export const login: Step =
  documentedSteps('docs/credentials.md', 'A kubeconfig in a secret', '').find(({ run }) =>
    run?.includes('KUBECONFIG='),
  ) ?? {}
