// The event stream of the tenant, one for the whole page. Its entries trigger a refetch of the
// shown data; screens may also follow the entries.

import { call } from '@custos/client/core'
import { streamsEvents } from '@custos/client/operations'
import type { StreamedEntry } from '@custos/client/types'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react'
import { client } from './connection.ts'
import { useSession } from './session.tsx'

/** The shortest interval between two refetches, however fast entries arrive. */
const RENEW_MS = 2_000

export type LiveState = 'off' | 'connecting' | 'live' | 'broken'
type Listener = (entry: StreamedEntry) => void

interface LiveStream {
  readonly state: LiveState
  /** Calls `listener` with every entry until the returned function is called. */
  follow(listener: Listener): () => void
}

const LiveContext = createContext<LiveStream | null>(null)

export function useLive(): LiveStream {
  const live = use(LiveContext)
  if (!live) throw new Error('screens are shown in the frame only')
  return live
}

export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const { can } = useSession()
  const enabled = can('gcrumbs:read')
  const queries = useQueryClient()
  const [state, setState] = useState<LiveState>(enabled ? 'connecting' : 'off')
  const listeners = useMemo(() => new Set<Listener>(), [])
  useEffect(() => {
    if (!enabled) return
    const stop = new AbortController()
    let renewal: ReturnType<typeof setTimeout> | undefined
    const renew = () => {
      renewal ??= setTimeout(() => {
        renewal = undefined
        void queries.invalidateQueries({ predicate: ({ meta }) => meta?.['still'] !== true })
      }, RENEW_MS)
    }
    const onEntry = (entry: StreamedEntry) => {
      renew()
      for (const listener of listeners) listener(entry)
    }
    void followStream(stop.signal, onEntry, setState)
    return () => {
      stop.abort()
      clearTimeout(renewal)
    }
  }, [enabled, queries, listeners])
  const live = useMemo(
    (): LiveStream => ({
      state,
      follow(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }),
    [state, listeners],
  )
  return <LiveContext value={live}>{children}</LiveContext>
}

async function followStream(
  signal: AbortSignal,
  onEntry: Listener,
  onState: (state: LiveState) => void,
): Promise<void> {
  try {
    // The first frame of a stream (`position`) states where it begins.
    for await (const { event, data } of call(client, streamsEvents, {}, { signal })) {
      onState('live')
      if (event !== 'position' && event !== 'reset') onEntry(data)
    }
  } catch {
    if (!signal.aborted) onState('broken')
  }
}
