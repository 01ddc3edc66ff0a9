// Lets other requests run between the steps of long work on the event loop.

const STRETCH_MS = 8

/** A function to await between steps: it yields once so many ms have gone by since it last did. */
export function makePacer(stretchMs = STRETCH_MS): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < stretchMs) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now()
        resolve()
      })
    })
  }
}
