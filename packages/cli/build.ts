// Bundles the command and the service into a few files in dist.

import { fileURLToPath } from 'node:url'
import { writeBundle } from './build-bundle.ts'

const OUTPUT = fileURLToPath(new URL('dist', import.meta.url))
const ENTRY = fileURLToPath(new URL('src/commands/main.ts', import.meta.url))

/** Whether esbuild is missing: an installation without dev dependencies runs the sources. */
const isMissing = (error: unknown): boolean =>
  error instanceof Error && /Cannot find package 'esbuild'/.test(error.message)

const start = performance.now()
try {
  const { files, bytes } = await writeBundle(ENTRY, OUTPUT)
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(`command: ${files} files, ${Math.round(bytes / 1024)} kB, built in ${seconds} s`)
} catch (error) {
  if (!isMissing(error) || !process.argv.includes('--where-possible')) throw error
  console.error('command: not built, because esbuild is not installed')
}
