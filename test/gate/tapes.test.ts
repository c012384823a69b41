import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { testTapes } from '../kit/tape-cases.ts'

const folder = join(import.meta.dirname, 'tapes')
for (const file of readdirSync(folder)) testTapes(join(folder, file))
