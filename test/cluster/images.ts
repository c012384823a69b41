import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { arch } from 'node:os'
import { join } from 'node:path'
import { buildRegistry, buildWeb } from './build.ts'
import { run } from './command.ts'
import { cacheFolder } from './layout.ts'
import { busyboxPath } from './packages.ts'

/** Address of the failing registry on every node. All image names start with it, so no pull leaves the machine. */
export const registryAddress = '127.0.0.1:5995'

/** The image of the tests' pods, tags v1, v2 and v3: busybox that serves its tag over HTTP on port 8080 by default. */
export const appImage = `${registryAddress}/app`

/** The image of a web server with the flags of `web/main.go`, tags v1 and v2. */
export const webImage = `${registryAddress}/web`

/** The image of the failing registry itself. */
export const registryImage = `${registryAddress}/registry:v1`

/** The image of the pod sandboxes. */
export const sandboxImage = `${registryAddress}/sandbox:v1`

/** Without the trap, the shell as process 1 ignores SIGTERM, and each deletion takes 30 s. */
const serve = `#!/bin/sh
trap 'exit 0' TERM INT
echo "serving $(cat /www/index.html)"
httpd -p 8080 -h /www
sleep infinity &
wait
`

/** Archive entry: a file with `content`, a symbolic link with `link`, else a folder. */
interface TarEntry {
  path: string
  mode?: number
  content?: Buffer | string
  link?: string
}

/** An image of one layer. */
export interface Image {
  name: string
  files: TarEntry[]
  config: { Entrypoint?: string[]; Cmd?: string[]; Env?: string[] }
}

/**
 * Writes the archive of all images in the format of `docker save`, for `ctr images import` and
 * `kind load image-archive`. Cached by content.
 * @returns the path of the archive
 */
export async function writeImages(): Promise<string> {
  const registry = await buildRegistry()
  const web = await buildWeb()
  const busybox = busyboxPath()
  const key = createHash('sha256')
  for (const path of [registry, web, busybox, import.meta.filename]) {
    key.update(readFileSync(path))
  }
  const archive = join(cacheFolder, `images-${key.digest('hex').slice(0, 16)}.tar`)
  if (existsSync(archive)) return archive

  const base = await busyboxFiles(busybox)
  const apps = ['v1', 'v2', 'v3'].map((tag) => app(tag, base))
  const images = [
    { name: sandboxImage, files: base, config: { Entrypoint: ['/bin/sleep', 'infinity'] } },
    ...apps,
    ...['v1', 'v2'].map((tag) => webOf(tag, web, base)),
    registryOf(registry, base, app('slow', base)),
  ]
  mkdirSync(cacheFolder, { recursive: true })
  writeFileSync(`${archive}.${process.pid}`, archiveOf(images))
  renameSync(`${archive}.${process.pid}`, archive)
  return archive
}

/** The files of an image that has busybox alone. */
export async function busyboxFiles(busybox: string): Promise<TarEntry[]> {
  const applets = (await run(busybox, ['--list'])).split('\n').filter((name) => name && name !== 'busybox')
  return [
    { path: 'bin/' },
    { path: 'etc/' },
    { path: 'tmp/', mode: 0o1777 },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync(busybox) },
    { path: 'etc/passwd', content: 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' },
    ...applets.map((name) => ({ path: `bin/${name}`, link: 'busybox' })),
  ]
}

function app(tag: string, base: TarEntry[]): Image {
  const files = [
    { path: 'www/' },
    { path: 'www/index.html', content: `${tag}\n` },
    { path: 'bin/serve', mode: 0o755, content: serve },
  ]
  return { name: `${appImage}:${tag}`, files: [...base, ...files], config: { Cmd: ['/bin/serve'] } }
}

function webOf(tag: string, binary: string, base: TarEntry[]): Image {
  const files = [{ path: 'web', mode: 0o755, content: readFileSync(binary) }]
  return {
    name: `${webImage}:${tag}`,
    files: [...base, ...files],
    config: { Entrypoint: ['/web'], Env: ['PATH=/bin', `VERSION=${tag}`] },
  }
}

function registryOf(binary: string, base: TarEntry[], slow: Image): Image {
  const layer = tar(slow.files)
  const files = [
    { path: 'registry', mode: 0o755, content: readFileSync(binary) },
    { path: 'config.json', content: configOf(slow, layer) },
    { path: 'layer.tar', content: layer },
  ]
  const command = ['/registry', registryAddress, '/config.json', '/layer.tar']
  return { name: registryImage, files: [...base, ...files], config: { Entrypoint: command } }
}

/** The archive of images in the format of `docker save`. */
export function archiveOf(images: Image[]): Buffer {
  const files = new Map<string, TarEntry>()
  const manifest = images.map((image) => {
    const layer = tar(image.files)
    const config = configOf(image, layer)
    const layerPath = `${sha256(layer)}.tar`
    const configPath = `${sha256(config)}.json`
    files.set(layerPath, { path: layerPath, content: layer })
    files.set(configPath, { path: configPath, content: config })
    return { Config: configPath, RepoTags: [image.name], Layers: [layerPath] }
  })
  return tar([...files.values(), { path: 'manifest.json', content: JSON.stringify(manifest) }])
}

function configOf(image: Image, layer: Buffer): Buffer {
  const config = { Env: ['PATH=/bin'], ...image.config }
  return Buffer.from(
    JSON.stringify({
      architecture: { x64: 'amd64' }[arch() as string] ?? arch(),
      os: 'linux',
      created: '1970-01-01T00:00:00Z',
      config,
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
      history: [{ created: '1970-01-01T00:00:00Z' }],
    }),
  )
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

/**
 * Builds a tar archive (POSIX ustar). Dates and owners are zero, so equal entries give equal bytes and equal digests.
 */
function tar(entries: readonly TarEntry[]): Buffer {
  const blocks: Buffer[] = []
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '')
    blocks.push(header(entry, content.length), content, Buffer.alloc((512 - (content.length % 512)) % 512))
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

function header(entry: TarEntry, size: number): Buffer {
  const isFile = entry.content !== undefined
  const type = isFile ? '0' : entry.link ? '2' : '5'
  if (Buffer.byteLength(entry.path) > 100) throw new Error(`path longer than 100 bytes: ${entry.path}`)
  const block = Buffer.alloc(512)
  block.write(entry.path, 0)
  block.write(octal(entry.mode ?? (isFile ? 0o644 : 0o755), 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  block.write(octal(size, 12), 124)
  block.write(octal(0, 12), 136)
  block.write(' '.repeat(8), 148)
  block.write(type, 156)
  block.write(entry.link ?? '', 157)
  block.write('ustar\x0000', 257)
  // The checksum treats its own field as spaces.
  block.write(
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      7,
    )}\0 `,
    148,
  )
  return block
}

function octal(value: number, width: number): string {
  return value.toString(8).padStart(width - 1, '0')
}

if (import.meta.main) console.log(await writeImages())
