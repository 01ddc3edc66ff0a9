// Lets other requests run between the steps of long work on the event loop.

const STRETCH_MS = 8

/** A function to await between steps: it yields once 8 ms have gone by since it last did. */
export function makePacer(): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < STRETCH_MS) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now()
        resolve()
      })
    })
  }
}
