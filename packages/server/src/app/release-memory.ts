// What loading the code took and nothing needs after it, given back before the service listens.

let released: Promise<void> | undefined

/**
 * A quarter of the process is then garbage and the room it lay in. Left alone V8 would keep that
 * room for as long as the service is at rest. Once a process, 0.1 s.
 */
export function releaseLoadingMemory(): Promise<void> {
  released ??= collectGarbage()
  return released
}

async function collectGarbage(): Promise<void> {
  if (!process.features.inspector) return
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}
