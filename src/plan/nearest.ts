import leven from 'leven'

/** Longer words are no typos of anything, and the distance costs the product of both lengths. */
const longestWord = 80

/** The candidates that `word` is most probably a misspelling of, the nearest first; none when nothing is near. */
export function nearest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  if (word.length > longestWord) return []
  const allowed = word.length <= 5 ? 1 : Math.max(2, Math.floor(word.length / 3))
  return [...new Set(candidates)]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= allowed)
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** How many mistakes make one word of the other: two letters that changed places are one. */
function distanceOf(word: string, other: string): number {
  const distance = leven(word, other)
  return distance === 2 && lettersOf(word) === lettersOf(other) ? 1 : distance
}

function lettersOf(word: string): string {
  return [...word].sort().join('')
}

/** ` Did you mean timeout?`, or nothing, to be put at the end of a message. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

/** The same for a flag: its dashes do not count. `names` are without dashes. */
export function didYouMeanFlag(flag: string, names: Iterable<string>): string {
  const near = nearest(flag.replace(/^--?/, ''), names)
  return near.length === 0 ? '' : ` Did you mean ${near.map((name) => `--${name}`).join(' or ')}?`
}
