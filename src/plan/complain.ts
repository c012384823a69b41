/** Takes note of one mistake, in full sentences; the caller knows the input and line it stands in, and goes on reading. */
export type Complain = (message: string) => void

/** What the user wrote, in quotes and short enough for a message. */
export function quote(text: string): string {
  return `"${text.length > 80 ? `${text.slice(0, 80)}…` : text}"`
}
