// State that a link carries: filters, pages and columns live in the address.

import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

type Search = Readonly<Record<string, string | undefined>>

export function useUrlSearch(): Search {
  // The router's parser gives texts only.
  return useSearch({ strict: false }) as Search
}

/** Changes some values of the address; an empty text removes one. */
export function useUrlChange(): (change: Search, replace?: boolean) => void {
  const navigate = useNavigate()
  return useCallback(
    (change, replace = false) => {
      const search = (previous: Search) => ({ ...previous, ...change })
      void navigate({ to: '.', search, replace })
    },
    [navigate],
  )
}

/** One value of the address; a change of a filter begins with the first page. */
export function useUrlState(name: string): [string, (value: string) => void] {
  const search = useUrlSearch()
  const change = useUrlChange()
  const set = useCallback(
    (value: string) => {
      const keepsPage = name.endsWith('cursor') || name.endsWith('cols')
      // Each letter of a filter is no page of its own in the history.
      if (keepsPage) change({ [name]: value })
      else change({ cursor: '', [name]: value }, true)
    },
    [change, name],
  )
  return [search[name] ?? '', set]
}
