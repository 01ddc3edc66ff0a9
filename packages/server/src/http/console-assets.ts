// Serves the console: its page at every path below /console, and its hashed files, cached for ever.

import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { type Asset, asset, documentOf, PUBLIC_PATHS, sendAsset } from './assets.ts'

const DIST = new URL('../../../console/dist/', import.meta.url)
const FILES = `${PUBLIC_PATHS.console}/assets/`
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** No inline script or style, no other origin, and no text that becomes HTML. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const UNBUILT = documentOf('Console', [
  '<h1>Console</h1>',
  '<p>The console has not been built. Run <code>npm run build:console</code> and start the service',
  'again.</p>',
])

/** Compresses on first use, so that a start need not wait for a hundred files. */
function compressOnce(content: Buffer): () => Buffer {
  let compressed: Buffer | undefined
  return () => {
    compressed ??= gzipSync(content)
    return compressed
  }
}

/** The page and the files by path; if they are not built, a page that says how to. */
export async function loadConsole(dist: URL = DIST): Promise<ReadonlyMap<string, Asset>> {
  const page = await readOrNull(new URL('index.html', dist))
  const html = { ...asset(PUBLIC_PATHS.console, page ?? UNBUILT), caching: 'no-store' }
  const found = new Map<string, Asset>([[PUBLIC_PATHS.console, { ...html, policy: POLICY }]])
  if (page === null) return found
  for (const name of await readdir(fileURLToPath(new URL('assets/', dist)))) {
    const content = await readFile(new URL(`assets/${name}`, dist))
    found.set(`${FILES}${name}`, {
      path: `${FILES}${name}`,
      type: TYPES[extname(name)] ?? 'application/octet-stream',
      content,
      gzip: compressOnce(content),
      caching: 'public, max-age=31536000, immutable',
    })
  }
  return found
}

async function readOrNull(file: URL): Promise<string | null> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

/** Paths of the console, for the table of known paths. */
export const CONSOLE_ROUTES = [
  { path: PUBLIC_PATHS.console },
  { path: `${PUBLIC_PATHS.console}/{rest}`, greedy: true },
] as const

/** The page's own router handles paths below /console; a missing file does not get the page. */
export function bindConsole(
  server: FastifyInstance,
  found: ReadonlyMap<string, Asset>,
  methods: string[],
): void {
  for (const url of [PUBLIC_PATHS.console, `${PUBLIC_PATHS.console}/*`])
    server.route({
      method: methods,
      url,
      handler(request, reply) {
        const path = request.url.split('?', 1)[0] ?? ''
        const file = found.get(path)
        const page = path.startsWith(FILES) ? undefined : found.get(PUBLIC_PATHS.console)
        const served = file ?? page
        if (!served) return reply.callNotFound()
        reply.hijack()
        sendAsset(reply.raw, served)
      },
    })
}
