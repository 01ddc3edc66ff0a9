// Lets other requests run between the steps of long work on the event loop.

const CHUNK_MS = 8

/** Returns a function to await between steps; it yields if it last did `chunkMs` ago or longer. */
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

/** The results of `act` for many items, in order. Yields to the event loop between items. */
export async function mapInChunks<T, R>(
  items: readonly T[],
  act: (item: T, at: number) => Promise<R> | R,
  pace = yieldBetweenChunks(),
): Promise<R[]> {
  const results: R[] = []
  for (const [at, item] of items.entries()) {
    results.push(await act(item, at))
    await pace()
  }
  return results
}

/**
 * Returns a function to await before a few milliseconds of work that has no steps. In each
 * iteration of the event loop `count` callers continue, in order, so that a small request waits for
 * a few of them and not for all.
 */
export function startPerIteration(count: number): () => Promise<void> {
  let [next, left] = [Promise.resolve(), count]
  return () => {
    const mine = next
    left -= 1
    if (left === 0) {
      left = count
      next = mine.then(() => new Promise((resolve) => setImmediate(resolve)))
    }
    return mine
  }
}
