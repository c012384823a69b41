import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { testProblems } from '../kit/problems.ts'

const folder = join(import.meta.dirname, 'words')
for (const file of readdirSync(folder)) testProblems(join(folder, file))
