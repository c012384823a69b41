import { readdirSync, readFileSync } from 'node:fs'
import { type HealthCheckEntry, parseEntries } from '../../plan/health-checks.ts'

/** An entry of the catalogue. Unlike a health check of the user, an entry always has a group and documentation. */
export type CatalogueEntry = HealthCheckEntry & Readonly<Required<Pick<HealthCheckEntry, 'group' | 'documentation'>>>

interface CatalogueFile {
  readonly groups: readonly string[]
  load(): Promise<readonly CatalogueEntry[]>
}

const folder = new URL('../../../catalogue/', import.meta.url)

/** The files of the catalogue in the checkout. In the bundle, `scripts/build.ts` replaces this module with imports. */
export const catalogueFiles: readonly CatalogueFile[] = await Promise.all(
  readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map(async (name) => {
      const text = readFileSync(new URL(name, folder), 'utf8')
      const entries = (await parseEntries(text, `catalogue/${name}`)) as readonly CatalogueEntry[]
      return { groups: [...new Set(entries.map(({ group }) => group))], load: async () => entries }
    }),
)
