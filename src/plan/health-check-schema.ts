import { z } from 'zod'
import { groupOf, isObject } from '../cluster/objects.ts'
import type { AddMistake } from '../errors.ts'
import { milestoneNames } from '../inputs.ts'
import { isBuiltInGroup } from './kinds.ts'

/* The schema of an entry in the file of `health-check-exprs`: its fields, with messages and documentation. */

/** Describes a field. `write`: its valid values, for messages like `Entry 2, cause: write a list of expressions`. */
function describedField<Schema extends z.ZodType>(schema: Schema, write: string, description: string) {
  return schema.meta({ write, description })
}

function optionalField<Schema extends z.ZodType>(schema: Schema) {
  return schema.exactOptional().meta(schema.meta() ?? {})
}

const words = z.string().regex(/\S/)
const textField = (description: string) => describedField(words, 'a text', description)
const expressionField = (description: string) =>
  describedField(words, "an expression in CEL, like status.phase == 'Running'", description)
const booleanField = (description: string) => optionalField(describedField(z.boolean(), 'true or false', description))
const kindListField = (description: string) => {
  const list = z.array(z.object({ apiVersion: words, kind: words })).readonly()
  return optionalField(
    describedField(list, 'a list of {apiVersion, kind}', `a list of \`{apiVersion, kind}\`: ${description}`),
  )
}
const stages = z.array(z.object({ name: z.enum(milestoneNames), done: words })).readonly()
const stageNames = milestoneNames.join(', ')

/**
 * Defines how the gate reads the status of a kind. Entries come from the file of `health-check-exprs`, or from the
 * catalogue of operators. Expressions are CEL, as in Flux' `healthCheckExprs`. If a field is missing, the expression is
 * false. The first true expression decides, in the order `inProgress`, `suspended`, `failed`, `current`. Without a true
 * expression, the object is in progress. If the status is for an older generation, the object is in progress too,
 * unless `suspended` is true for the spec alone.
 *
 * In the catalogue, conditions for an older generation are ignored. If the status lacks all fields that `current` and
 * `failed` read, another version of the operator wrote the status. Then the general conventions decide.
 */
export const entrySchema = z.strictObject({
  group: optionalField(
    textField('the API group, in any version; `*.example.com` matches every group with this suffix. Or `apiVersion`'),
  ),
  apiVersion: optionalField(textField('the API version, in place of `group`: only its group counts')),
  kind: textField('the kind; `*` matches every kind of the group that has no entry'),
  current: expressionField('true when the object is ready. Required; `true` for a kind without a status'),
  failed: optionalField(
    expressionField(
      'true when the operator has given up: only a change of the object corrects it, not time, nor a change of another object',
    ),
  ),
  inProgress: optionalField(
    expressionField('true when the status is incomplete or old, although its generation is current'),
  ),
  suspended: optionalField(expressionField('true when the operator does nothing until a user acts')),
  resume: optionalField(
    textField('the command that resumes a suspended object, with `{kind}`, `{name}` and `{namespace}`'),
  ),
  stallHold: optionalField(
    expressionField(
      'true while the object itself states how long it takes: the stall clock is stopped. Default: while the condition Reconciling is True',
    ),
  ),
  cause: optionalField(
    describedField(
      z.array(words).readonly(),
      'a list of expressions that return a text',
      'a list of texts, or of lists of texts: why the object is not ready. The first that is not empty is quoted',
    ),
  ),
  milestones: optionalField(
    describedField(
      stages,
      `a list of {name, done}, with an expression and a name of ${stageNames}`,
      'a list of `{name, done}`: stages between `observed` and `ready`, in order',
    ),
  ),
  owns: kindListField('objects that it owns, also through each other, whose problems explain its own'),
  isWorkload: booleanField(
    '`true`: it runs pods, so a proven problem of its pods fails it, and it awaits the workloads that were written since its spec',
  ),
  applies: kindListField(
    'those among the objects that its `status.inventory` lists, also in other namespaces; each must carry the labels `GROUP/name` and `GROUP/namespace` of it',
  ),
  awaitsWorkloads: booleanField('`true`: its workloads must be ready too, because its status does not show it'),
  ignoresGeneration: booleanField('`true`: its `observedGeneration` is not the generation that its status is about'),
  revision: optionalField(
    expressionField(
      'a text: the value of a label that only the objects of its present revision have. Default: those created since the last write of its spec',
    ),
  ),
  follows: optionalField(
    describedField(
      z.strictObject({ object: words, generation: words.exactOptional(), every: words.exactOptional() }),
      'a mapping of {object, generation, every}, each an expression that returns a text',
      'an object in its namespace that its status is about: `object`, as `apiVersion/kind/name`, and `generation`, that of the object, or `every`, the interval at which the operator compares the object. Without these two, the object must be ready too',
    ),
  ),
  documentation: optionalField(
    textField('the address of what the expressions are based on. Required in the catalogue'),
  ),
})

/**
 * Whether a value from the file is a valid entry.
 * @param where the place of the entry, for messages: `Entry 2`
 * @param addMistake called with every mistake
 */
export function isHealthCheckEntry(
  raw: unknown,
  where: string,
  addMistake: AddMistake,
): raw is z.infer<typeof entrySchema> {
  if (!isObject(raw)) {
    addMistake(`${where} is not a mapping. Write apiVersion, kind and current.`)
    return false
  }
  const { apiVersion, group, kind } = raw
  const named = typeof kind === 'string' && kind !== '' ? `${where} (${kind})` : where
  const fields: Readonly<Record<string, z.ZodType>> = entrySchema.shape
  const issues = entrySchema.safeParse(raw).error?.issues ?? []
  const wanted = new Map(
    issues.flatMap(({ path: [name] }) => (name === undefined ? [] : [[String(name), fields[String(name)]?.meta()]])),
  )
  const ofGroup = typeof apiVersion === 'string' ? groupOf(apiVersion) : group
  const mistakes = [
    ...Object.keys(raw)
      .filter((name) => !Object.hasOwn(fields, name))
      .map((name) => `${where} has an unknown field "${name}". There are ${Object.keys(fields).join(', ')}.`),
    ...(apiVersion === undefined && group === undefined ? [`${named} lacks apiVersion.`] : []),
    ...(apiVersion !== undefined && group !== undefined
      ? [`${named} has apiVersion and group: write one of them.`]
      : []),
    ...[...wanted].map(([name, meta]) =>
      raw[name] === undefined
        ? `${named} lacks ${name}: ${meta?.['write']}.`
        : `${named}, ${name}: write ${meta?.['write']}.`,
    ),
    ...(typeof ofGroup === 'string' && isBuiltInGroup(ofGroup)
      ? [
          `${named} is a kind of Kubernetes, which the gate judges by its own rule. Write --for at the reference of an object that is ready otherwise.`,
        ]
      : []),
  ]
  for (const message of mistakes) addMistake(message)
  return mistakes.length === 0
}
