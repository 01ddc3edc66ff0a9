// Lets other requests run between the steps of long work on the event loop.

const CHUNK_MS = 8

/** A function to await between steps: it yields when it last did `chunkMs` ago or longer. */
export function yieldBetweenChunks(chunkMs = CHUNK_MS): () => Promise<void> | undefined {
  let since = performance.now()
  return () => {
    if (performance.now() - since < chunkMs) return undefined
    return new Promise((resolve) => {
      setImmediate(() => {
        since = performance.now()
        resolve()
      })
    })
  }
}
