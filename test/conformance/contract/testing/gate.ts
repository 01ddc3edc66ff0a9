// Holds a service at a named point of an erasure, so that a test can look at it half way.

export interface Gate {
  /** To be given to the service as its `step`. */
  readonly step: (name: string) => Promise<void>
  /** The next time the point is reached, it waits; resolves when it does. */
  hold(name: string): Promise<void>
  release(): void
}

export function makeGate(): Gate {
  let held: { name: string; reached: () => void; released: Promise<void> } | undefined
  let open = () => {}
  return {
    async step(name) {
      const waiting = held
      if (waiting === undefined || waiting.name !== name) return
      held = undefined
      waiting.reached()
      await waiting.released
    },
    hold(name) {
      const reached = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      open = released.resolve
      held = { name, reached: reached.resolve, released: released.promise }
      return reached.promise
    },
    release() {
      open()
    },
  }
}
