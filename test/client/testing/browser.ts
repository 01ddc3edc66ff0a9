// The client packed for a web page, and a browser to run it in.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type Context, createContext, runInContext } from 'node:vm'
import { build } from 'esbuild'
import { type Browser, chromium } from 'playwright-core'

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Packs a program as a bundler does; `esm` splits what is loaded later into files. */
export const bundle = (contents: string, format: 'esm' | 'iife') =>
  build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    minify: true,
    splitting: format === 'esm',
    format,
    target: 'es2022',
    platform: 'browser',
    outdir: 'dist',
    metafile: true,
    write: false,
  })

/** A program as one script. */
export async function bundleForPage(contents: string): Promise<string> {
  const { outputFiles } = await bundle(contents, 'iife')
  return outputFiles.map(({ text }) => text).join('')
}

/** What browsers and edge runtimes have and the language does not. */
const WEB_GLOBALS = [
  ...['fetch', 'Headers', 'URL', 'URLSearchParams', 'AbortController', 'AbortSignal', 'Blob'],
  ...['TextDecoder', 'TextEncoder', 'ReadableStream', 'TransformStream', 'TextDecoderStream'],
  ...['crypto', 'performance', 'setTimeout', 'clearTimeout', 'DOMException'],
]

/** Runs a program that finds nothing of Node; returns its globals. */
export async function runOnWebGlobals(contents: string): Promise<Context> {
  const globals = WEB_GLOBALS.map((name) => [name, Reflect.get(globalThis, name)])
  const context = createContext(Object.fromEntries(globals))
  runInContext(await bundleForPage(contents), context)
  return context
}

/** Chromium; null where there is none, which is a failure in continuous integration. */
export async function launchBrowser(): Promise<Browser | null> {
  const executablePath = BROWSERS.find((path) => existsSync(path))
  if (executablePath)
    return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  assert.equal(process.env['CI'], undefined, 'no Chromium found for the test of the client')
  return null
}
