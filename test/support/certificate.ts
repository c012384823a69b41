import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A key and the certificate for it, both PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** Makes a certificate for 127.0.0.1, signed by itself and valid for a day, with the `openssl` command. */
export async function selfSignedCertificate(): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'api-server-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1']
  const subject = ['-subj', '/CN=kube-apiserver', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
  try {
    await promisify(execFile)('openssl', [...request, ...subject, '-keyout', key, '-out', cert])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } finally {
    await rm(folder, { recursive: true })
  }
}
