import { join } from 'node:path'

/** The results of `npm run compare`. */
export const comparisonFile = join(import.meta.dirname, 'comparison.json')

export type ToolName = 'gate' | 'rolloutStatus' | 'wait' | 'helm' | 'kubedog'

/** How a tool ended: `waiting` if it was stopped at the limit, `unsupported` if it cannot watch the kind. */
export interface ToolResult {
  readonly end: 'passed' | 'failed' | 'waiting' | 'unsupported'
  readonly seconds: number
  /** The reason that the gate gave; empty if it passed. */
  readonly reason?: string
}

export interface ComparisonRow {
  readonly title: string
  readonly right: 'passed' | 'failed'
  readonly results: Readonly<Record<ToolName, ToolResult>>
}

export interface Comparison {
  readonly limitSeconds: number
  readonly versions: Readonly<Record<'kubectl' | 'helm' | 'kubedog', string>>
  readonly rows: readonly ComparisonRow[]
}
