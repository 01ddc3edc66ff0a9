// The store that screens of one store show: from the address, else the last one that was used.

import { useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { preferences } from '../ambient.ts'
import { useSession } from './session.tsx'

/** The id of a store in an address, and what follows it. */
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
