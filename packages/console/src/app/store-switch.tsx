// The store that screens of one store show: from the address, else the last one that was used.

import { memoryListStores } from '@custos/client/operations'
import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useEffect } from 'react'
import { preferences } from '../ambient.ts'
import { useSession } from '../api/session.tsx'
import { useCall } from '../api/use-call.ts'
import css from './store-switch.module.css'

const STORE_PATH = /^(?:\/console)?\/stores\/([^/]+)(.*)$/
/** A switch is for a few stores; a tenant with more has the list and the palette. */
const STORES_MAX = 100

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

export function StoreSwitch() {
  const { can } = useSession()
  const storeId = useStoreId()
  const navigate = useNavigate()
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const { data } = useCall(memoryListStores, [{ limit: STORES_MAX }], {
    enabled: can('memory:read'),
  })
  if (!can('memory:read')) return null
  const names = new Map((data?.stores ?? []).map((store) => [store.store_id, store.name]))
  if (!names.has(storeId)) names.set(storeId, null)
  const select = (next: string) => {
    preferences.set('store', next)
    const timeline = STORE_PATH.exec(path)?.[2] === '/timeline'
    const to = timeline ? '/stores/$storeId/timeline' : '/stores/$storeId'
    void navigate({ to, params: { storeId: next }, search: {} })
  }
  return (
    <label className={css['switch']}>
      <span>Store</span>
      <select value={storeId} onChange={({ target }) => select(target.value)}>
        {[...names].map(([id, name]) => (
          <option key={id} value={id}>
            {name === null || name === id ? id : `${name} (${id})`}
          </option>
        ))}
      </select>
    </label>
  )
}
