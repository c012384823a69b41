import { visibleText } from './decoded-text.ts'

/*
 * Finds secrets in any text by their shape: tokens of known vendors, private keys, and passwords in URLs.
 * `secret-values.ts` decides which values with a name are secret.
 */

/**
 * The shapes of tokens, in the formats that vendors document. Scanners such as secretlint or gitleaks have more
 * patterns, but also features for repositories that a gate does not need.
 *
 * Every quantifier is bounded, or follows a prefix that cannot repeat, so that matching takes linear time.
 */
const tokenShapes: readonly RegExp[] = [
  // GitHub: https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats
  /gh[oprsu]_[A-Za-z0-9_.-]{20,}|github_pat_\w{20,}/,
  // GitLab: https://docs.gitlab.com/security/tokens/#token-prefixes
  /gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-[\w.-]{20,}/,
  // AWS: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids
  /A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])/,
  // JWT with three parts and JWE with five parts: https://www.rfc-editor.org/rfc/rfc7519#section-3.1
  /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]{0,10000}){2,4}/,
  // Slack: https://docs.slack.dev/authentication/tokens
  /xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}/,
  // Slack webhooks: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
  /hooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/]{20,}/,
  // Google Cloud: https://cloud.google.com/docs/authentication/api-keys and https://cloud.google.com/docs/authentication/token-types
  /AIza[\w-]{35}|ya29\.[\w-]{20,}/,
  // npm and PyPI: https://docs.npmjs.com/about-access-tokens and https://pypi.org/help/#apitoken
  /npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}/,
  // Docker: https://docs.docker.com/security/access-tokens
  /dckr_(?:oat|pat)_[\w-]{20,}/,
  // Vault and Terraform: https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes and https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
  /hv[brs]\.[\w-]{20,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}/,
  // Stripe: https://docs.stripe.com/keys
  /[rs]k_(?:live|test)_[A-Za-z0-9]{20,}|whsec_[A-Za-z0-9]{20,}/,
  // OpenAI and Anthropic: https://platform.openai.com/docs/api-reference/authentication and https://docs.anthropic.com/en/api/overview
  /sk-(?:ant|proj|svcacct)-[\w-]{20,}/,
  // DigitalOcean: https://docs.digitalocean.com/reference/api/create-personal-access-token
  /do[opr]_v1_[a-f0-9]{64}/,
  // SendGrid and Hugging Face: https://docs.sendgrid.com/ui/account-and-settings/api-keys and https://huggingface.co/docs/hub/security-tokens
  /SG\.[\w-]{16,64}\.[\w-]{16,}|hf_[A-Za-z0-9]{30,}/,
  // Azure Storage: https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
  /(?<=(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{40,}={0,2}/,
  // The query of a URL: tokens, and signatures of https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html and
  // https://learn.microsoft.com/rest/api/storageservices/create-service-sas
  /(?<=[?&](?:access_token|api_?key|password|secret|sig|token|X-Amz-Signature|X-Amz-Security-Token)=)[^\s&"'<>]{8,}/,
  // Basic and Bearer credentials: https://www.rfc-editor.org/rfc/rfc7617 and https://www.rfc-editor.org/rfc/rfc6750#section-2.1
  /(?<=\b(?:Basic|Bearer) )[A-Za-z0-9._~+/-]{16,}={0,2}/,
]

/** The minimum length of a token. */
const minTokenLength = 20

const anyToken = new RegExp(tokenShapes.map(({ source }) => `(?<![A-Za-z0-9])(?:${source})`).join('|'), 'g')

/** A private key: https://www.rfc-editor.org/rfc/rfc7468#section-10. A key without its last line ends with the text. */
const privateKey =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g

/** The end of a private key, for a text that begins inside a key, like the last lines of a log. */
const endOfKey = /(?:(?<=^|\s)[A-Za-z0-9+/=]{16,76}\s{1,16}){1,250}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g

/** A range of a text: the index of its first character, and the index after its last character. */
export type TextRange = readonly [start: number, end: number]

/** The part of a URL before its password (RFC 3986, section 3.2.1). Excludes image digests. */
const beforePassword = /:\/\/(?!sha\d{3}:)[^\s:@/?#"'<>]{0,128}:/g
/** Matches a port before a path: such digits are no password. */
const port = /^\d{1,5}[/?#…]/
const maxPasswordLength = 512

/**
 * The ranges of the passwords in URLs. A password may contain `/` and `@`. So the password ends at the last `@` before
 * a blank or quote, or where the text is cut (`…`).
 */
function findUrlPasswords(text: string): readonly TextRange[] {
  const found: TextRange[] = []
  beforePassword.lastIndex = 0
  while (beforePassword.exec(text) !== null) {
    const start = beforePassword.lastIndex
    const [rest = ''] = /^[^\s"'<>]*/.exec(text.slice(start, start + maxPasswordLength + 1)) ?? []
    const length = rest.includes('@') ? rest.lastIndexOf('@') : rest.indexOf('…')
    if (length < 1 || port.test(rest)) continue
    found.push([start, start + length])
    beforePassword.lastIndex = start + length
  }
  return found
}

/** The passwords of all URLs in a text, as written. */
export function urlPasswords(text: string): readonly string[] {
  return text.includes('://') ? findUrlPasswords(text).map(([start, end]) => text.slice(start, end)) : []
}

/** The ranges of tokens, private keys, and passwords of URLs in a text. */
export function findTokens(text: string): readonly TextRange[] {
  const keys = text.includes('PRIVATE KEY') ? [...findMatches(text, privateKey), ...findMatches(text, endOfKey)] : []
  const passwords = text.includes('://') && /[@…]/.test(text) ? findUrlPasswords(text) : []
  return [...keys, ...passwords, ...(text.length < minTokenLength ? [] : findMatches(text, anyToken))]
}

function findMatches(text: string, pattern: RegExp): readonly TextRange[] {
  // If nothing matches, `search` is much faster than `matchAll`.
  if (text.search(pattern) === -1) return []
  return Array.from(text.matchAll(pattern), ({ 0: { length }, index }) => [index, index + length] as const)
}

/** The maximum number of lines of a private key. A key of 16,384 bits has 200 lines. */
const maxKeyLines = 250

/** Redacts private keys in a log that is read line by line. */
export class PrivateKeyRedactor {
  #linesLeft = 0

  /** Returns the next line of the log, or `***` if the line is inside a private key. */
  redact(line: string): string {
    const isInKey = this.#linesLeft > 0
    const last = [...visibleText(line).matchAll(/-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY/g)].at(-1)
    if (last === undefined) this.#linesLeft = Math.max(0, this.#linesLeft - 1)
    else this.#linesLeft = last[1] === 'BEGIN' ? maxKeyLines : 0
    return isInKey ? '***' : line
  }
}
