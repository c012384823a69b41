import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACTION_ROOT } from '@actions/workflow-parser/actions/action-constants'
import { JSONObjectReader } from '@actions/workflow-parser/templates/json-object-reader'
import { TemplateSchema } from '@actions/workflow-parser/templates/schema/template-schema'
import { TemplateContext, TemplateValidationErrors } from '@actions/workflow-parser/templates/template-context'
import { readTemplate } from '@actions/workflow-parser/templates/template-reader'
import { NoOperationTraceWriter } from '@actions/workflow-parser/templates/trace-writer'
import { YamlObjectReader } from '@actions/workflow-parser/workflows/yaml-object-reader'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'action.yml'), 'utf8')

const expression = (inner: string) => `\${{ ${inner} }}`

/** Every string of a YAML document, mapping keys included, with its path. */
function stringsOf(value: unknown, path: readonly string[] = []): { path: readonly string[]; text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, part]) => [{ path, text: key }, ...stringsOf(part, [...path, key])])
}

/** Whether the runner evaluates expressions here: in defaults of inputs alone, because this action runs on Node. */
function mayHoldExpression(path: readonly string[]): boolean {
  return path.length === 3 && path[0] === 'inputs' && path[2] === 'default'
}

function expressionsOutOfPlace(yaml: string): string[] {
  return stringsOf(parse(yaml))
    .filter(({ path, text }) => text.includes('${{') && !mayHoldExpression(path))
    .map(({ path }) => path.join('.'))
}

/**
 * Validates the content of an `action.yml` with the schema of GitHub's editor extension. The schema lists for each field
 * the contexts that an expression may use; the runner reports the same errors.
 * The package's `parseAction` does the same, but Node cannot import its schema.
 * @returns the errors, each with line and column
 * @see https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
 */
function validateActionMetadata(content: string): string[] {
  const name = 'action.yml'
  const context = new TemplateContext(new TemplateValidationErrors(), actionSchema(), new NoOperationTraceWriter())
  const file = context.getFileId(name)
  const reader = new YamlObjectReader(file, content)
  for (const { message, range } of reader.errors) context.error(file, message, range)
  if (reader.errors.length === 0) readTemplate(context, ACTION_ROOT, reader, file)
  return context.errors.getErrors().map(({ message }) => message)
}

function actionSchema(): TemplateSchema {
  const path = 'node_modules/@actions/workflow-parser/dist/action-v1.0.min.json'
  const json = readFileSync(join(root, path), 'utf8')
  return TemplateSchema.load(new JSONObjectReader(undefined, json))
}

describe('action.yml', () => {
  it('contains no expression where the runner evaluates none', () => {
    expect(expressionsOutOfPlace(text)).toEqual([])
  })

  it.each([
    ['inputs.timeout.description', `inputs: { timeout: { description: "${expression('github.token')}" } }`],
    ['outputs.reason.description', `outputs: { reason: { description: "a ${expression('steps.x')} b" } }`],
    ['description', `description: "${expression('1')}"`],
    ['inputs', `inputs: { "${expression('x')}": {} }`],
  ])('would not pass with an expression in %s', (path, yaml) => {
    expect(expressionsOutOfPlace(yaml)).toEqual([path])
  })

  it('is valid by the schema that GitHub publishes', () => {
    expect(validateActionMetadata(text)).toEqual([])
  })

  it.each([
    [
      'an expression in a description',
      'author:',
      `author: ${expression('github.actor')}`,
      "Unrecognized named-value: 'github'",
    ],
    [
      'a default that reads a secret',
      'required: false',
      `default: ${expression('secrets.X')}`,
      "Unrecognized named-value: 'secrets'",
    ],
    ['an unknown runtime', 'using: node24', 'using: node25', "Unexpected value 'node25'"],
    ['an unknown key', 'main:', 'entry:', "Unexpected value 'entry'"],
    ['an unknown colour', 'color: blue', 'color: pink', "Unexpected value 'pink'"],
  ])('would not be valid with %s', (_, present, wrong, mistake) => {
    expect(validateActionMetadata(text.replace(present, wrong)).join('\n')).toContain(mistake)
  })

  it('starts a file that exists', () => {
    expect(existsSync(join(root, parse(text).runs.main))).toBe(true)
  })
})
