import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { runScript } from './command.ts'
import { withTestCluster } from './test-cluster.ts'

/** The parts of an OpenAPI schema that this script reads. */
interface Schema {
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string
    readonly version: string
    readonly kind: string
  }[]
}

/**
 * Writes `test/cluster-api/full-objects.json.gz`: an object of each built-in kind in which every field has a value of its
 * type, from the OpenAPI document of the test cluster. Run it for a new version of Kubernetes:
 *
 *     npm run full-objects
 */
await runScript(() =>
  withTestCluster(async ({ api }) => {
    const { definitions } = (await api.get('/openapi/v2')) as unknown as {
      readonly definitions: Readonly<Record<string, Schema>>
    }
    const objects = Object.values(definitions).flatMap((schema) => {
      const { group = '', version, kind } = schema['x-kubernetes-group-version-kind']?.[0] ?? {}
      const isBuiltIn = !group.includes('.') || group.endsWith('.k8s.io')
      if (!isBuiltIn || kind === undefined || schema.properties?.['metadata'] === undefined || kind.endsWith('List'))
        return []
      const apiVersion = group === '' ? version : `${group}/${version}`
      return [{ ...(sampleOf(schema, definitions) as object), apiVersion, kind }]
    })
    const file = join(import.meta.dirname, '../cluster-api/full-objects.json.gz')
    writeFileSync(file, gzipSync(JSON.stringify(objects), { level: 9 }))
    console.log(`${objects.length} objects`)
  }),
)

/** A value of a schema; undefined for one that contains itself. */
function sampleOf(
  { $ref, allOf, type, properties, items, additionalProperties }: Schema,
  definitions: Readonly<Record<string, Schema>>,
  within: readonly string[] = [],
): unknown {
  const inner = (schema: Schema) => sampleOf(schema, definitions, within)
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? ''
    if (name.endsWith('IntOrString')) return 80
    const definition = within.includes(name) ? undefined : definitions[name]
    return definition && sampleOf(definition, definitions, [...within, name])
  }
  if (allOf?.[0] !== undefined) return inner(allOf[0])
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, inner(schema)]))
  if (type === 'string') return 'text'
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return true
  if (type === 'array') return [items && inner(items)].filter((item) => item !== undefined)
  return additionalProperties === undefined ? {} : { key: inner(additionalProperties) }
}
