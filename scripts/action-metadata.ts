import { type InputDefinition, inputDefinitions } from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'

/** All sentences about an input or output, with its default. */
export function fullText(definition: Pick<InputDefinition, 'description'> & Partial<InputDefinition>): string {
  const { description, details = '', default: fallback = '' } = definition
  return [description, details, fallback === '' ? '' : `Default: \`${fallback}\`.`]
    .filter((text) => text !== '')
    .join(' ')
}

/** Replaces the inputs and outputs in the present `action.yml` by those of the code. */
export function actionMetadata(present: string): string {
  const start = present.indexOf('inputs:\n')
  const end = present.indexOf('runs:\n')
  const inputs = inputDefinitions.flatMap((definition) => [
    `  ${definition.name}:`,
    ...describe(fullText(definition)),
    '    required: false',
  ])
  const outputs = Object.entries(outputDefinitions).flatMap(([name, definition]) => [
    `  ${name}:`,
    ...describe(fullText(definition)),
  ])
  const generated = ['inputs:', ...inputs, '', 'outputs:', ...outputs, '', ''].join('\n')
  return present.slice(0, start) + generated + present.slice(end)
}

/** A folded YAML scalar. */
function describe(text: string): string[] {
  const width = 114
  const lines: string[] = []
  // A code span stays on one line.
  for (const word of text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return ['    description: >-', ...lines.map((line) => `      ${line}`)]
}
