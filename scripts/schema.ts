/** Writes schemas/report.schema.json, the JSON Schema of the report, from the schema in the code. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reportJsonSchema } from '../src/report/report-schema.ts'

const folder = join(import.meta.dirname, '..', 'schemas')
mkdirSync(folder, { recursive: true })
writeFileSync(join(folder, 'report.schema.json'), `${JSON.stringify(reportJsonSchema(), null, 2)}\n`)
