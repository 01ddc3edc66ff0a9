// The API explorer at /docs: three files of this package, no request to anybody else.

import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'

export interface Asset {
  readonly path: string
  readonly type: string
  readonly content: Buffer
}

/** The files of the explorer, served without a credential. */
export const PUBLIC_PATHS = {
  openapi: '/openapi.json',
  docs: '/docs',
  script: '/docs/explorer.js',
  style: '/docs/explorer.css',
} as const

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const FILES = [
  { path: PUBLIC_PATHS.docs, file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: PUBLIC_PATHS.script, file: 'explorer.js', type: 'text/javascript; charset=utf-8' },
  { path: PUBLIC_PATHS.style, file: 'explorer.css', type: 'text/css; charset=utf-8' },
] as const

export const loadExplorer = (): Promise<Asset[]> =>
  Promise.all(
    FILES.map(async ({ path, file, type }) => ({
      path,
      type,
      content: await readFile(new URL(`./docs/${file}`, import.meta.url)),
    })),
  )

export function sendAsset(raw: ServerResponse, { type, content }: Asset): void {
  raw.writeHead(200, {
    'content-type': type,
    'content-length': content.length,
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  })
  raw.end(content)
}
