import { inputDefinitions } from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'

/** Replaces the inputs and outputs in the present `action.yml` by those of the code. */
export function actionMetadata(present: string): string {
  const start = present.indexOf('inputs:\n')
  const end = present.indexOf('runs:\n')
  const inputs = inputDefinitions.flatMap(({ name, description, details, default: fallback }) => {
    const sentences = [description, details, fallback === '' ? '' : `Default: \`${fallback}\`.`]
    return [`  ${name}:`, ...describe(sentences.filter((text) => text !== '').join(' ')), '    required: false']
  })
  const outputs = Object.entries(outputDefinitions).flatMap(([name, { description }]) => [
    `  ${name}:`,
    ...describe(description),
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
