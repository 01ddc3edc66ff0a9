// Builds dist/verify.html: one file with its script and style inline, and a policy that allows
// exactly these two by their hashes.

import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SOURCE = join(import.meta.dirname, 'src')
const HASHES = join(import.meta.dirname, 'src/hashes.ts')
const OUTPUT = join(import.meta.dirname, 'dist')
/** The library's hashes are written for every use and are a tenth of the page. */
const ALIASES = {
  '@noble/hashes/sha2.js': HASHES,
  '@noble/hashes/blake2.js': HASHES,
}
const TARGET = 'es2022'

/** An installation without development packages keeps what was built before. */
async function loadBundler(): Promise<typeof import('esbuild')> {
  try {
    return await import('esbuild')
  } catch (error) {
    if (!process.argv.includes('--where-possible')) throw error
    console.error('verify page: not built, because esbuild is not installed')
    process.exit(0)
  }
}

const { build } = await loadBundler()

async function bundle(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(SOURCE, file)],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    charset: 'utf8',
    legalComments: 'none',
    target: TARGET,
    alias: ALIASES,
  })
  return (outputFiles[0]?.text ?? '').trim()
}

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** A script ends at the first `</script`, wherever it stands. */
function assertInline(text: string): string {
  if (/<\/(script|style)|<!--/i.test(text)) throw new Error('the bundle would end its own element')
  return text
}

const [script, style] = (await Promise.all([bundle('main.ts'), bundle('page.css')])).map(
  assertInline,
)
if (!script || !style) throw new Error('nothing was bundled')
const policy = [
  "default-src 'none'",
  `script-src ${hashOf(script)}`,
  `style-src ${hashOf(style)}`,
  // One request, on a click, and only where a service shows the page: its published keys.
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Verify · Custos</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<noscript>This page checks documents with a script, which this browser does not run.</noscript>
<script>${script}</script>
</body>
</html>
`
const bytes = Buffer.byteLength(page)
mkdirSync(OUTPUT, { recursive: true })
writeFileSync(join(OUTPUT, 'verify.html'), page)
console.log(`verify page: ${bytes} bytes`)
