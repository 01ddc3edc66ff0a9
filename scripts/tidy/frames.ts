// Counts the stack frames and files from the route to each SQLite call; load with `--import`.

const TO = '/packages/server/src/'
const ERASURE = `${TO}slices/erasure/`
const ROUTE = `${TO}http/endpoint.ts`

// Not imported, because only the database code may import the module.
const { StatementSync } = process.getBuiltinModule('node:sqlite')
const stacks = new Map<string, number>()
const visited = new Set<string>()
Error.stackTraceLimit = Number.POSITIVE_INFINITY

for (const name of ['all', 'get', 'iterate', 'run'] as const) {
  const original = StatementSync.prototype[name]
  Object.defineProperty(StatementSync.prototype, name, {
    value(this: unknown, ...values: unknown[]) {
      count(new Error().stack ?? '')
      return Reflect.apply(original, this, values)
    },
  })
}

function count(stack: string): void {
  const frames = stack.split('\n').flatMap((line) => {
    const [, path] = /(\/packages\/server\/src\/[\w./-]+\.ts)/.exec(line) ?? []
    return path === undefined ? [] : [path]
  })
  for (const path of frames)
    if (path.startsWith(ERASURE) && !path.endsWith('.test.ts')) visited.add(path)
  // A stack ends at a queue, so calls behind a queue are not counted.
  const end = frames.lastIndexOf(ROUTE)
  if (end < 0) return
  const key = frames.slice(0, end + 1).join('\n')
  stacks.set(key, (stacks.get(key) ?? 0) + 1)
}

process.on('exit', () => {
  let [calls, frames, files] = [0, 0, 0]
  let longest: string[] = []
  for (const [key, times] of stacks) {
    const stack = key.split('\n')
    calls += times
    frames += times * stack.length
    files += times * new Set(stack).size
    if (stack.length > longest.length) longest = stack
  }
  if (calls === 0) return
  console.log(`${calls} SQLite calls from routes`)
  console.log(`mean ${(frames / calls).toFixed(1)} frames in ${(files / calls).toFixed(1)} files`)
  console.log(`max ${longest.length} frames in ${new Set(longest).size} files:`)
  for (const path of longest.toReversed()) console.log(`  ${path.slice(TO.length)}`)
  console.log(`files of slices/erasure on any stack: ${visited.size}`)
  for (const path of [...visited].sort()) console.log(`  ${path.slice(TO.length)}`)
})
