import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACTION_ROOT } from '@actions/workflow-parser/actions/action-constants'
import { JSONObjectReader } from '@actions/workflow-parser/templates/json-object-reader'
import { TemplateSchema } from '@actions/workflow-parser/templates/schema/template-schema'
import { TemplateContext, TemplateValidationErrors } from '@actions/workflow-parser/templates/template-context'
import { readTemplate } from '@actions/workflow-parser/templates/template-reader'
import { NoOperationTraceWriter } from '@actions/workflow-parser/templates/trace-writer'
import { YamlObjectReader } from '@actions/workflow-parser/workflows/yaml-object-reader'

/**
 * Validates action metadata (the content of an `action.yml`) by the schema that GitHub's own editor support uses. The
 * schema names for each field which contexts an expression may use; the runner refuses the same with the same words.
 * The package's `parseAction` does this as well, but imports its schema in a way that Node itself refuses.
 * @returns the mistakes, each with line and column
 * @see https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
 */
export function validateActionMetadata(content: string): string[] {
  const name = 'action.yml'
  const context = new TemplateContext(new TemplateValidationErrors(), actionSchema(), new NoOperationTraceWriter())
  const file = context.getFileId(name)
  const reader = new YamlObjectReader(file, content)
  for (const { message, range } of reader.errors) context.error(file, message, range)
  if (reader.errors.length === 0) readTemplate(context, ACTION_ROOT, reader, file)
  return context.errors.getErrors().map(({ message }) => message)
}

function actionSchema(): TemplateSchema {
  const path = '../../node_modules/@actions/workflow-parser/dist/action-v1.0.min.json'
  const json = readFileSync(join(import.meta.dirname, path), 'utf8')
  return TemplateSchema.load(new JSONObjectReader(undefined, json))
}
