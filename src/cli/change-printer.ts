import { type Mistake, quote } from '../errors.ts'
import { type ObjectChange, type Part, redactChange } from '../trace/changes.ts'
import { type Line, type Paint, paintLines } from '../trace/line.ts'
import { changeJson, changeLines, overviewLines } from '../trace/render-changes.ts'
import type { ChangeListener } from '../trace/views.ts'
import type { Arguments } from './arguments.ts'
import { flagAsWritten } from './inputs.ts'
import { type CommandContext, usesColor } from './output.ts'

/** How changes are printed. */
export interface ChangePrinting extends Paint {
  readonly format: string
}

/** Reads the flags `-o` and `--color`. */
export function readFormat(
  args: Arguments,
  { stdout }: CommandContext,
): { readonly mistakes: readonly Mistake[]; readonly printing: ChangePrinting } {
  const format = args.flags.get('output') ?? 'text'
  const message = `${quote(format)} is not one of text, json.`
  return {
    mistakes: ['text', 'json'].includes(format) ? [] : [{ input: flagAsWritten(args, 'output'), message }],
    printing: { format, color: usesColor(stdout, args.flags.get('color')), redact: stdout.redact },
  }
}

/**
 * Prints changes. Before changes of the status as text, it also prints an overview.
 * @param print calls the function once the secrets in the lines are known
 */
export function changePrinter(
  part: Part,
  startedAt: number,
  printing: ChangePrinting,
  print: (lines: () => readonly string[]) => void,
): Pick<ChangeListener, 'onChange' | 'onOverview'> {
  const redacted = (change: ObjectChange) => redactChange(change, printing.redact)
  if (printing.format === 'json')
    return { onChange: (change) => print(() => [changeJson(redacted(change), startedAt)]) }
  const paint = (lines: () => readonly Line[]) => print(() => lines().flatMap((line) => paintLines(line, printing)))
  return {
    onChange: (change) => paint(() => changeLines(redacted(change), startedAt)),
    ...(part === 'status' ? { onOverview: (look) => paint(() => overviewLines(look)) } : {}),
  }
}
