// The entries that the event stream sent since the screen was opened, newest first.

import type { StreamedEntry } from '@custos/client/types'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useLive } from '../../api/live.tsx'

const KEPT = 500

/** A received entry, with the number of missing entries before it. */
export interface HeardEntry {
  readonly entry: StreamedEntry
  readonly missing: number
}

/** Adds entries in the order in which they arrived. */
function withEntries(
  heard: readonly HeardEntry[],
  entries: readonly StreamedEntry[],
): readonly HeardEntry[] {
  const added: HeardEntry[] = []
  let last = heard[0]?.entry.seq ?? null
  for (const entry of entries) {
    if (last !== null && entry.seq <= last) continue
    added.push({ entry, missing: last === null ? 0 : entry.seq - last - 1 })
    last = entry.seq
  }
  return [...added.toReversed(), ...heard].slice(0, KEPT)
}

/** Follows the stream. Entries that arrive during a pause are queued. */
export function useHeard() {
  const { follow, state } = useLive()
  const [heard, setHeard] = useState<readonly HeardEntry[]>([])
  const [waiting, setWaiting] = useState(0)
  const [isPaused, setPaused] = useState(false)
  const kept = useRef<StreamedEntry[]>([])
  const paused = useRef(false)
  useEffect(
    () =>
      follow((entry) => {
        if (!paused.current) return setHeard((all) => withEntries(all, [entry]))
        kept.current = [...kept.current, entry].slice(-KEPT)
        setWaiting(kept.current.length)
      }),
    [follow],
  )
  const pause = useCallback((next: boolean) => {
    paused.current = next
    setPaused(next)
    if (next) return
    const entries = kept.current
    kept.current = []
    setWaiting(0)
    setHeard((all) => withEntries(all, entries))
  }, [])
  return { heard, waiting, isPaused, pause, state }
}
