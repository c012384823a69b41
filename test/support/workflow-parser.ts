import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ACTION_ROOT } from '@actions/workflow-parser/actions/action-constants'
import { JSONObjectReader } from '@actions/workflow-parser/templates/json-object-reader'
import { TemplateSchema } from '@actions/workflow-parser/templates/schema/template-schema'
import { TemplateContext, TemplateValidationErrors } from '@actions/workflow-parser/templates/template-context'
import { readTemplate } from '@actions/workflow-parser/templates/template-reader'
import { NoOperationTraceWriter } from '@actions/workflow-parser/templates/trace-writer'
import { WORKFLOW_ROOT } from '@actions/workflow-parser/workflows/workflow-constants'
import { YamlObjectReader } from '@actions/workflow-parser/workflows/yaml-object-reader'

/**
 * Validates the content of an `action.yml` with the schema of GitHub's editor extension. The schema lists for each field
 * the contexts that an expression may use; the runner reports the same errors.
 * The package's `parseAction` does the same, but Node cannot import its schema.
 * @returns the errors, each with line and column
 * @see https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax
 */
export function validateActionMetadata(content: string): string[] {
  return validate(content, 'action', ACTION_ROOT)
}

/** The same for a workflow. */
export function validateWorkflow(content: string): string[] {
  return validate(content, 'workflow', WORKFLOW_ROOT)
}

function validate(content: string, type: 'action' | 'workflow', root: string): string[] {
  const context = new TemplateContext(new TemplateValidationErrors(), schemaOf(type), new NoOperationTraceWriter())
  // The runner has background steps; the package has them behind a flag.
  context.state['featureFlags'] = { isEnabled: () => true }
  const file = context.getFileId(`${type}.yml`)
  const reader = new YamlObjectReader(file, content)
  for (const { message, range } of reader.errors) context.error(file, message, range)
  if (reader.errors.length === 0) readTemplate(context, root, reader, file)
  return context.errors.getErrors().map(({ message }) => message)
}

function schemaOf(type: 'action' | 'workflow'): TemplateSchema {
  const path = `../../node_modules/@actions/workflow-parser/dist/${type}-v1.0.min.json`
  return TemplateSchema.load(new JSONObjectReader(undefined, readFileSync(join(import.meta.dirname, path), 'utf8')))
}
