/** Expects these words, in which `…` stands for any others. */
export function expectWords(text: string | undefined, words: string | undefined): void {
  if (words !== undefined) expect(text).toMatch(toPattern(words))
}

export function toPattern(words: string): RegExp {
  const parts = words.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}
