import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes a new folder the working directory of this process, and its kubeconfig the usual one. Call `leave` at the end. */
export function enterWorkFolder(kubeconfig?: string): { readonly folder: string; readonly leave: () => void } {
  const before = { folder: process.cwd(), kubeconfig: process.env['KUBECONFIG'] }
  const folder = mkdtempSync(join(tmpdir(), 'cli-'))
  process.chdir(folder)
  if (kubeconfig !== undefined) writeFileSync('kubeconfig', kubeconfig)
  process.env['KUBECONFIG'] = join(folder, 'kubeconfig')
  return {
    folder,
    leave: () => {
      process.chdir(before.folder)
      if (before.kubeconfig === undefined) delete process.env['KUBECONFIG']
      else process.env['KUBECONFIG'] = before.kubeconfig
      rmSync(folder, { recursive: true })
    },
  }
}

/** Enters a new work folder before each test, and leaves it after the test. `kubeconfig`: called before the test. */
export function useWorkFolder(kubeconfig: () => string | undefined = () => undefined): void {
  let leave = () => {}
  beforeEach(() => {
    leave = enterWorkFolder(kubeconfig()).leave
  })
  afterEach(() => leave())
}
