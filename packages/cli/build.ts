// Builds dist: the command and the service in few files without types. They start faster and hold
// less memory than the sources.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const OUTPUT = fileURLToPath(new URL('dist', import.meta.url))
const ENTRY = fileURLToPath(new URL('src/commands/main.ts', import.meta.url))
/** Libraries of many small modules. The others are loaded as they are installed. */
const BUNDLED = ['@custos/', '@noble/hashes', 'kysely', 'typebox']

/** An installation without development packages runs the sources. */
async function loadBundler(): Promise<typeof import('esbuild')> {
  try {
    return await import('esbuild')
  } catch (error) {
    if (!process.argv.includes('--where-possible')) throw error
    console.error('command: not built, because esbuild is not installed')
    process.exit(0)
  }
}

/** Files beside a source (a worker, a page, a model) are found from dist too. */
function withOwnUrl(path: string): string {
  const own = relative(OUTPUT, path).split(sep).join('/')
  const url = `new URL(${JSON.stringify(own)}, import.meta.url)`
  return readFileSync(path, 'utf8').replace(/\bimport\.meta\.url\b/g, `${url}.href`)
}

const isBundled = (path: string): boolean =>
  path.startsWith('.') || path.startsWith('/') || BUNDLED.some((name) => path.startsWith(name))

const { build } = await loadBundler()
const start = performance.now()
const { outputFiles } = await build({
  entryPoints: [ENTRY],
  outdir: OUTPUT,
  bundle: true,
  splitting: true,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  charset: 'utf8',
  legalComments: 'none',
  plugins: [
    {
      name: 'custos',
      setup({ onLoad, onResolve }) {
        onResolve({ filter: /./ }, ({ path, kind }) =>
          kind === 'entry-point' || isBundled(path) ? null : { path, external: true },
        )
        onLoad({ filter: /packages[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
          contents: withOwnUrl(path),
          loader: 'ts',
          resolveDir: dirname(path),
        }))
      },
    },
  ],
})
// The entry last: it stands for a build that is complete.
const isEntry = ({ path }: { path: string }) => path === join(OUTPUT, 'main.js')
outputFiles.sort((a, b) => Number(isEntry(a)) - Number(isEntry(b)))
rmSync(OUTPUT, { recursive: true, force: true })
mkdirSync(OUTPUT)
for (const { path, contents } of outputFiles) writeFileSync(path, contents)
const bytes = outputFiles.reduce((sum, { contents }) => sum + contents.length, 0)
const seconds = ((performance.now() - start) / 1000).toFixed(1)
console.log(
  `command: ${outputFiles.length} files, ${Math.round(bytes / 1024)} kB, built in ${seconds} s`,
)
