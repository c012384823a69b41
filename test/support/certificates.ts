import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A key and its certificate in PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** A certificate to issue. */
export interface CertificateRequest {
  /** Default `IP:127.0.0.1,IP:::1,DNS:localhost`. */
  readonly names?: string
  /** Negative: it has expired. Default 1. */
  readonly days?: number
}

const openssl = (...args: readonly string[]) => promisify(execFile)('openssl', args)
const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
const localNames = 'IP:127.0.0.1,IP:::1,DNS:localhost'

/** Calls `work` with the path of a file in a temporary folder. */
async function inFolder<T>(work: (path: (name: string) => string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'certificates-'))
  try {
    return await work((name) => join(folder, name))
  } finally {
    await rm(folder, { recursive: true })
  }
}

const read = async (key: string, cert: string): Promise<Certificate> => ({
  key: await readFile(key, 'utf8'),
  cert: await readFile(cert, 'utf8'),
})

/** Creates a self-signed certificate for this machine, valid for a day, with the `openssl` command. */
export function selfSignedCertificate(): Promise<Certificate> {
  return inFolder(async (path) => {
    const names = ['-subj', '/CN=kube-apiserver', '-addext', `subjectAltName=${localNames}`]
    await openssl('req', '-x509', ...newKey, '-days', '1', ...names, '-keyout', path('key'), '-out', path('cert'))
    return read(path('key'), path('cert'))
  })
}

/** Creates a certificate authority, and the certificates that it issues. */
export function issueCertificates<Name extends string>(
  requests: Readonly<Record<Name, CertificateRequest>>,
): Promise<{ readonly authority: string } & Readonly<Record<Name, Certificate>>> {
  return inFolder(async (path) => {
    const authority = ['-keyout', path('ca.key'), '-out', path('ca')]
    await openssl('req', '-x509', ...newKey, '-days', '1', '-subj', '/CN=authority', ...authority)
    const issued = Object.entries<CertificateRequest>(requests).map(
      async ([name, { names = localNames, days = 1 }]) => {
        const [key, request, cert] = [path(`${name}.key`), path(`${name}.request`), path(name)]
        const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`]
        await openssl('req', ...newKey, ...subject, '-keyout', key, '-out', request)
        const signer = [
          '-CA',
          path('ca'),
          '-CAkey',
          path('ca.key'),
          '-set_serial',
          String(1 + Math.floor(Math.random() * 1e9)),
        ]
        await openssl(
          'x509',
          '-req',
          '-in',
          request,
          ...signer,
          '-days',
          String(days),
          '-copy_extensions',
          'copy',
          '-out',
          cert,
        )
        return [name, await read(key, cert)] as const
      },
    )
    const certificates = Object.fromEntries(await Promise.all(issued)) as Record<Name, Certificate>
    return { ...certificates, authority: await readFile(path('ca'), 'utf8') }
  })
}
