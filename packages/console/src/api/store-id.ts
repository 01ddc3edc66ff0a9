// The current store: the one in the address, otherwise the last one that was used.

import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { preferences } from '../ambient.ts'
import { useSession } from './session.tsx'

/** Matches an address with the id of a store, and the rest of the address. */
export const STORE_PATH = /^(?:\/console)?\/stores\/([^/]+)(.*)$/

export function useStoreId(): string {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const { caller } = useSession()
  const [, segment] = STORE_PATH.exec(path) ?? []
  const inPath = segment === undefined ? null : decodeURIComponent(segment)
  useEffect(() => {
    if (inPath !== null) preferences.set('store', inPath)
  }, [inPath])
  const last = inPath ?? preferences.get('store') ?? 'default'
  return caller.stores && !caller.stores.includes(last) ? (caller.stores[0] ?? last) : last
}
