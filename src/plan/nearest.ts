import leven from 'leven'

/** Longer words are no typos of anything, and the distance costs the product of both lengths. */
const longestWord = 80

/** The candidates that `word` is most probably a misspelling of, the nearest first; none when nothing is near. */
export function nearest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  if (word.length > longestWord) return []
  const allowed = word.length <= 3 ? 1 : Math.max(2, Math.floor(word.length / 3))
  return [...new Set(candidates)]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= allowed)
    .map((candidate) => ({ candidate, distance: leven(word, candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** ` Did you mean timeout?`, or nothing, to be put at the end of a message. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}
