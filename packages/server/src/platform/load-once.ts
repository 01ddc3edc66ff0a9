// Loads a value on first use and keeps it; a load that failed is not kept.

/**
 * A function that runs `load` on its first call and returns the same promise from then on. After a
 * rejection the next call loads again: what was missing (a file descriptor, memory) may be back.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined
      throw error
    })
    return loaded
  }
}
