/** What a step does, by its first word; the other words are its own. */
export type Verbs<Setting> = Readonly<Record<string, (setting: Setting, words: readonly string[]) => unknown>>

/** Does what each step says, one after another: `passes 100`, `sees ADDED web`. */
export async function play<Setting>(steps: readonly string[], verbs: Verbs<Setting>, setting: Setting): Promise<void> {
  for (const step of steps) {
    const [verb = '', ...words] = step.split(' ')
    const act = verbs[verb]
    if (act === undefined) throw new Error(`there is no step "${step}"`)
    await act(setting, words)
  }
}
