// Serves the assets that need no credential: the start page, the API explorer, the verify page,
// under /errors a page for each refusal code, to which problem documents link, and the console: its
// page at every address below /console, its hashed files for ever.

import { readdir, readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type Remedy, refusals, remedies } from '@custos/contract'
import type { FastifyInstance } from 'fastify'
import type { Kernel } from '../platform/kernel/kernel.ts'
import { JSON_TYPE } from './answer.ts'

const INDEX = '/errors'

/** Path of the page of a refusal code: the `type` of a problem (RFC 9457, 3.1.1). */
export const errorPath = (code: string): string => `${INDEX}/${code}`

interface ErrorPage extends Remedy {
  readonly code: string
  readonly status: number
  readonly title: string
}

/** HTML without scripts or styles, generated from the contract. */
export function errorPages(): Asset[] {
  const texts = new Map(Object.entries(remedies))
  const explained = Object.entries(refusals).flatMap(([code, refusal]): ErrorPage[] => {
    const remedy = texts.get(code)
    return remedy ? [{ code, ...refusal, ...remedy }] : []
  })
  const pages = explained.map((one) => asset(errorPath(one.code), pageOf(one)))
  return [asset(INDEX, indexOf(explained)), ...pages]
}

/** The page at `/` with links; JSON for clients that ask for it. */
export function startPage({ version, auth, pages }: Kernel['settings']): Asset {
  const { docs, openapi, verify, console } = PUBLIC_PATHS
  const links = {
    docs,
    openapi,
    ...(pages ? { verify, console } : {}),
    errors: INDEX,
    health: '/health',
    readiness: '/readyz',
  }
  const credential =
    auth === 'local'
      ? 'No credential is needed: this service runs in local mode.'
      : 'Requests carry <code>Authorization: Bearer KEY</code>; the operator makes the first key ' +
        'of a tenant with <code>custos tenant create</code>.'
  const page = documentOf('Start', [
    `<h1>Custos</h1><p>Governed memory for AI agents, version ${toHtml(version)}.`,
    'This address serves its HTTP interface.</p>',
    '<ul>',
    ...(pages ? [`<li><a href="${console}">Console</a>: look and act in your browser</li>`] : []),
    `<li><a href="${docs}">API explorer</a>: every operation, to read and to try</li>`,
    `<li><a href="${openapi}">OpenAPI description</a>: for clients and code generators</li>`,
    ...(pages ? [`<li><a href="${verify}">Verify</a>: check documents in your browser</li>`] : []),
    `<li><a href="${INDEX}">Refusals</a>: what each error code means and what to do</li>`,
    `<li><a href="${links.health}">Health</a> and <a href="${links.readiness}">readiness</a></li>`,
    '</ul>',
    `<p>${credential} <code>POST /v1/stores/default/write</code> with`,
    '<code>{"content": "…"}</code> keeps a memory; <code>POST /v1/stores/default/retrieve</code>',
    'with <code>{"query": "…", "budget_tokens": 500}</code> finds it.</p>',
  ])
  const json = { service: 'custos', version, auth, links }
  return { ...asset('/', page), json: Buffer.from(`${JSON.stringify(json)}\n`) }
}

const asset = (path: string, html: string): Asset => ({
  path,
  type: 'text/html; charset=utf-8',
  content: Buffer.from(html),
})

function pageOf({ code, status, title, when, advice }: ErrorPage): string {
  return documentOf(code, [
    `<h1><code>${code}</code></h1>`,
    `<p><strong>${status}</strong> ${toHtml(title)}.</p>`,
    `<h2>When</h2><p>${toHtml(when)}</p>`,
    `<h2>What to do</h2><p>${toHtml(advice)}</p>`,
    `<p><a href="${INDEX}">All refusals</a></p>`,
  ])
}

function indexOf(explained: readonly ErrorPage[]): string {
  const rows = explained.map(({ code, status, title }) => {
    const link = `<a href="${errorPath(code)}"><code>${code}</code></a>`
    return `<tr><td>${link}</td><td>${status}</td><td>${toHtml(title)}</td></tr>`
  })
  return documentOf('Refusals', [
    '<h1>Refusals</h1>',
    '<p>The values of <code>error</code> in replies of 400 and above. The codes are stable;',
    'texts may change.</p>',
    '<table>',
    '<thead><tr><th>Code</th><th>Status</th><th>Meaning</th></tr></thead>',
    `<tbody>${rows.join('\n')}</tbody>`,
    '</table>',
  ])
}

function documentOf(title: string, body: readonly string[]): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${title} · Custos</title>`,
    '<link rel="icon" href="data:,">',
    '</head>',
    '<body>',
    ...body,
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Converts a text of the contract to HTML; backticks mark code. */
const toHtml = (text: string): string =>
  text
    .replaceAll(/[&<>]/g, (character) => ENTITIES[character] ?? character)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')

export interface Asset {
  readonly path: string
  readonly type: string
  readonly content: Buffer
  /** The same content for a client whose Accept header names JSON and not HTML. */
  readonly json?: Buffer
  /** The content security policy of a page that states its own. */
  readonly policy?: string
  /** Default: no-cache. */
  readonly caching?: string
  /** The content in gzip, for clients that accept it. */
  readonly gzip?: () => Buffer
}

/**
 * Routes outside the operation table, besides `/` and `/errors`. All are GET, need no credential,
 * read no stored data, and may not be framed. CUSTOS_CONSOLE=off removes `verify` and `console`.
 */
export const PUBLIC_PATHS = {
  openapi: '/openapi.json',
  docs: '/docs',
  script: '/docs/explorer.js',
  style: '/docs/explorer.css',
  verify: '/verify',
  console: '/console',
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

const VERIFY_PAGE = new URL('../../../verify-page/dist/verify.html', import.meta.url)
const POLICY = /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/

/** The verify page with the policy that it states; if it is not built, a page that says how to. */
export async function loadVerifyPage(file: URL = VERIFY_PAGE): Promise<Asset> {
  const html = await readOrNull(file)
  const policy = html === null ? undefined : POLICY.exec(html)?.[1]
  if (html === null || policy === undefined) return asset(PUBLIC_PATHS.verify, VERIFY_UNBUILT)
  // A policy in a document cannot say who may frame it.
  return { ...asset(PUBLIC_PATHS.verify, html), policy: `${policy}; frame-ancestors 'none'` }
}

const VERIFY_UNBUILT = documentOf('Verify', [
  '<h1>Verify</h1>',
  '<p>This page has not been built. Run <code>npm run build:verify-page</code> and start the',
  'service again.</p>',
])

export function sendAsset(raw: ServerResponse, asset: Asset): void {
  const { accept, 'accept-encoding': encodings } = raw.req.headers
  const json = asksForJson(accept) ? asset.json : undefined
  const gzip = /\bgzip\b/.test(String(encodings)) ? asset.gzip?.() : undefined
  const content = json ?? gzip ?? asset.content
  if (asset.json) raw.appendHeader('vary', 'accept')
  if (asset.gzip) raw.appendHeader('vary', 'accept-encoding')
  raw.writeHead(200, {
    'content-type': json ? JSON_TYPE : asset.type,
    'content-length': content.length,
    'content-security-policy': asset.policy ?? CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': asset.caching ?? 'no-cache',
    ...(gzip ? { 'content-encoding': 'gzip' } : {}),
  })
  raw.end(content)
}

const asksForJson = (accept = ''): boolean =>
  accept.includes('application/json') && !accept.includes('text/html')

const CONSOLE_DIST = new URL('../../../console/dist/', import.meta.url)
const CONSOLE_FILES = `${PUBLIC_PATHS.console}/assets/`
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
}

/** No inline script or style, no other origin, and no text that becomes HTML. */
const CONSOLE_POLICY = [
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

const CONSOLE_UNBUILT = documentOf('Console', [
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
export async function loadConsole(dist: URL = CONSOLE_DIST): Promise<ReadonlyMap<string, Asset>> {
  const page = await readOrNull(new URL('index.html', dist))
  const html = { ...asset(PUBLIC_PATHS.console, page ?? CONSOLE_UNBUILT), caching: 'no-store' }
  const found = new Map<string, Asset>([
    [PUBLIC_PATHS.console, { ...html, policy: CONSOLE_POLICY }],
  ])
  if (page === null) return found
  for (const name of await readdir(fileURLToPath(new URL('assets/', dist)))) {
    const content = await readFile(new URL(`assets/${name}`, dist))
    found.set(`${CONSOLE_FILES}${name}`, {
      path: `${CONSOLE_FILES}${name}`,
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
        const page = path.startsWith(CONSOLE_FILES) ? undefined : found.get(PUBLIC_PATHS.console)
        const served = file ?? page
        if (!served) return reply.callNotFound()
        reply.hijack()
        sendAsset(reply.raw, served)
      },
    })
}
