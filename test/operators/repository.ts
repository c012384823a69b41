import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The files of a revision: content by path. */
export type Files = Readonly<Record<string, object | string>>

/** A bare git repository. A commit is made first, and pushed later, so that a scenario knows its hash before. */
export class Repository {
  readonly folder = mkdtempSync(join(tmpdir(), 'rollout-gate-git-'))
  readonly #commits: string[] = []

  constructor() {
    this.#git(['init', '--quiet', '--bare', '--initial-branch=main'])
  }

  /** Makes a commit of these files only, after the previous one. */
  add(files: Files): void {
    const parent = this.#commits.at(-1)
    const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
    const stream = [
      `commit refs/pending/${this.#commits.length}\nmark :1\ncommitter tests <tests@localhost> 1750000000 +0000\n`,
      data(`commit ${this.#commits.length}`),
      parent === undefined ? '' : `from ${parent}\n`,
      'deleteall\n',
      ...Object.entries(files).map(([path, content]) => `M 100644 inline ${path}\n${data(JSON.stringify(content))}`),
      'get-mark :1\ndone\n',
    ]
    this.#commits.push(this.#git(['fast-import', '--quiet', '--done'], stream.join('')))
  }

  /** The hash of a commit, by its position. */
  commit(index: number): string {
    const found = this.#commits[index]
    if (found === undefined) throw new Error(`there is no commit ${index}`)
    return found
  }

  push(index: number): void {
    this.#git(['update-ref', 'refs/heads/main', this.commit(index)])
  }

  deleteBranch(): void {
    this.#git(['update-ref', '-d', 'refs/heads/main'])
  }

  /** The files of a commit, as an archive. */
  archive(index: number): Buffer {
    return execFileSync('git', ['-C', this.folder, 'archive', '--format=tar.gz', `${this.commit(index)}^{tree}`])
  }

  /** Answers a request of `git fetch` over HTTP (https://git-scm.com/docs/http-protocol). */
  answer(request: IncomingMessage, response: ServerResponse): void {
    const isFetch = request.method === 'POST'
    response.setHeader('Content-Type', `application/x-git-upload-pack-${isFetch ? 'result' : 'advertisement'}`)
    if (!isFetch) response.write('001e# service=git-upload-pack\n0000')
    const flags = ['--stateless-rpc', ...(isFetch ? [] : ['--advertise-refs'])]
    const git = spawn('git', ['upload-pack', ...flags, this.folder], { stdio: ['pipe', 'pipe', 'ignore'] })
    request.pipe(git.stdin)
    git.stdout.pipe(response)
  }

  #git(args: readonly string[], input = ''): string {
    return execFileSync('git', ['-C', this.folder, ...args], { input, encoding: 'utf8' }).trim()
  }
}
