import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { viewSettings } from '../../src/gate/settings.ts'
import { createSettings } from '../kit/gate.ts'
import { testTapes } from '../kit/tape-cases.ts'

const folder = join(import.meta.dirname, 'tapes')
const settings = { view: viewSettings(createSettings()) }
for (const file of readdirSync(folder)) testTapes(join(folder, file), settings)
