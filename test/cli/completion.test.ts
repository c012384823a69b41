import { execFileSync } from 'node:child_process'
import { rows } from '../kit/rows.ts'
import { runCommand } from '../support/command.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

async function complete(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runCommand(['__complete', ...words])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout.split('\n').slice(0, -1)
}

describe('completion offers', () => {
  test.each(rows<[what: string, words: string[], candidates: string[]]>(data, 'a completed word is'))(
    '%s',
    async (_, words, candidates) => {
      expect(await complete('zsh', ...words)).toEqual(candidates)
    },
  )
})

test('a completion for bash contains only the part after the last = of the word', async () => {
  expect(await complete('bash', 'wait', '--color', '=', 'al')).toEqual(['always'])
})

test('the completion of an unknown shell is rejected with the supported shells', async () => {
  const { code, stderr } = await runCommand(['completion', 'tcsh'])
  expect(code).toBe(2)
  expect(stderr).toBe('SHELL: "tcsh" is not one of bash, zsh, fish.\n')
})

const hasBash = process.platform !== 'win32'

;(hasBash ? test : test.skip)(
  'the bash completion script passes the words up to the cursor and offers the printed words',
  async () => {
    const { stdout: script } = await runCommand(['completion', 'bash'])
    const stub = 'rollout-gate() { printf "%s\\n" "$*/"; }'
    const run = `COMP_WORDS=(rollout-gate wait dep later); COMP_CWORD=2; _rollout_gate; printf "%s\\n" "\${COMPREPLY[@]}"`
    const output = execFileSync('bash', ['--norc', '-c', `${stub}\n${script}\n${run}`], { encoding: 'utf8' })
    expect(output).toBe('__complete\nbash\nwait\ndep/\n')
  },
)
