import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { testRules } from '../kit/rule-tapes.ts'

const folder = join(import.meta.dirname, 'tapes')
for (const file of readdirSync(folder)) testRules(join(folder, file))
