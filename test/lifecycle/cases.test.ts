import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { testObjects } from '../kit/cases.ts'

const folder = join(import.meta.dirname, 'cases')
for (const file of readdirSync(folder)) testObjects(join(folder, file))
