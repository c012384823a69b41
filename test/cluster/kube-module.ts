import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { run, runScript } from './command.ts'
import { kubeBuildTags, kubeModfile, kubeModule } from './layout.ts'

/**
 * Writes the module file of a release of Kubernetes: the requirements of that release's own `go.mod`. There, the modules of
 * its staging area have version v0.0.0 and a path; published, they have the minor and patch number of the release.
 */
async function writeModule(version: string): Promise<void> {
  const download = await run('go', ['mod', 'download', '-json', `k8s.io/kubernetes@${version}`], { cwd: '/' })
  const { GoMod } = JSON.parse(download) as { GoMod: string }
  const staged = version.replace(/^v1/, 'v0')
  const requirements = readFileSync(GoMod, 'utf8')
    .replace(/^module .*$/m, 'module rollout-gate/test/cluster/kube')
    .replace(/(?<=\sk8s\.io\/\S+ )v0\.0\.0$/gm, staged)
    .replace(/^(\s*(k8s\.io\/\S+) => )\.\/staging.*$/gm, `$1$2 ${staged}`)
  const file = kubeModfile(version)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${requirements}\nrequire k8s.io/kubernetes ${version}\n`)
  rmSync(file.replace(/mod$/, 'sum'), { force: true })
  const options = { cwd: kubeModule, env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' } }
  await run('go', ['list', '-mod=mod', `-modfile=${file}`, `-tags=${kubeBuildTags(version)}`, '-deps', '.'], options)
}

await runScript(async () => {
  for (const given of process.argv.slice(2)) {
    const version = `v${given.replace(/^v/, '')}`
    await writeModule(version)
    console.log(`${kubeModfile(version)} is written`)
  }
})
