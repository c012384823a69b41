import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { validateActionMetadata } from './support/workflow-parser.ts'

const root = join(import.meta.dirname, '..')
const files = ['action.yml', 'merge/action.yml']
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

describe('the metadata of the actions', () => {
  it.each(files)('%s contains no expression where the runner evaluates none', (file) => {
    expect(expressionsOutOfPlace(readFileSync(join(root, file), 'utf8'))).toEqual([])
  })

  it.each([
    ['inputs.timeout.description', `inputs: { timeout: { description: "${expression('github.token')}" } }`],
    ['outputs.reason.description', `outputs: { reason: { description: "a ${expression('steps.x')} b" } }`],
    ['description', `description: "${expression('1')}"`],
    ['inputs', `inputs: { "${expression('x')}": {} }`],
  ])('are rejected with an expression in %s', (path, yaml) => {
    expect(expressionsOutOfPlace(yaml)).toEqual([path])
  })

  it.each(files)('%s is valid by the schema that GitHub publishes', (file) => {
    expect(validateActionMetadata(readFileSync(join(root, file), 'utf8'))).toEqual([])
  })

  it.each([
    [
      'are invalid with an expression in a description',
      'author:',
      `author: ${expression('github.actor')}`,
      "Unrecognized named-value: 'github'",
    ],
    [
      'are invalid with a default that reads a secret',
      'required: false',
      `default: ${expression('secrets.X')}`,
      "Unrecognized named-value: 'secrets'",
    ],
    ['are invalid with an unknown runtime', 'using: node24', 'using: node25', "Unexpected value 'node25'"],
    ['are invalid with an unknown key', 'main:', 'entry:', "Unexpected value 'entry'"],
    ['are invalid with an unknown colour', 'color: blue', 'color: pink', "Unexpected value 'pink'"],
  ])('%s', (_, present, wrong, mistake) => {
    expect(validateActionMetadata(text.replace(present, wrong)).join('\n')).toContain(mistake)
  })
})

/** https://docs.github.com/actions/how-tos/create-and-publish-actions/publish-in-github-marketplace */
describe('for the Marketplace, action.yml', () => {
  const { name, description, author, branding } = parse(text)

  it('has a name, an author and a description of at most 125 characters', () => {
    expect(name).toMatch(/^[A-Z][\w -]{1,60}$/)
    expect(description.length).toBeLessThanOrEqual(125)
    expect(author ?? '').not.toBe('')
  })

  it('has a colour and an icon that the Marketplace supports', () => {
    const colours = ['white', 'black', 'yellow', 'blue', 'green', 'orange', 'red', 'purple', 'gray-dark']
    expect(colours).toContain(branding.color)
    expect(branding.icon).toMatch(/^[a-z]+(?:-[a-z]+)*$/)
  })

  it('is the only metadata file at the top of the repository, beside a README', () => {
    const top = readdirSync(root)
    expect(top.filter((each) => /^action\.ya?ml$/.test(each))).toEqual(['action.yml'])
    expect(top).toContain('README.md')
  })
})
