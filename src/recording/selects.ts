/**
 * Whether a label selector, as `kubectl -l` takes it and `checkSelector` lets it pass, selects these labels
 * (k8s.io/apimachinery pkg/labels: a label that is absent is not equal and not in).
 */
export function selects(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return selector
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .every((part) => part === '' || meets(part, labels))
}

function meets(requirement: string, labels: Readonly<Record<string, string>>): boolean {
  const [, not = '', key = '', operator = '', operand = ''] =
    /^(!?)\s*([^\s!=(),]+)\s*(==?|!=|in|notin|)\s*(.*)$/.exec(requirement) ?? []
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined
  if (operator === '') return (value === undefined) === (not === '!')
  const values = operand
    .replace(/^\(|\)$/g, '')
    .split(',')
    .map((each) => each.trim())
  const isAmong = value !== undefined && values.includes(value)
  return operator === '!=' || operator === 'notin' ? !isAmong : isAmong
}
