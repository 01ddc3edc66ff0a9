// State in the address, so that links carry it: filters, pages and columns.

import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

type Search = Readonly<Record<string, string | undefined>>

export function useUrlSearch(): Search {
  // The router's parser returns only texts.
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

/** One value of the address. A change of a filter returns to the first page. */
export function useUrlState(name: string): [string, (value: string) => void] {
  const search = useUrlSearch()
  const change = useUrlChange()
  const set = useCallback(
    (value: string) => {
      const keepsPage = name.endsWith('cursor') || name.endsWith('cols')
      // Typing in a filter must not add a history entry for each letter.
      if (keepsPage) change({ [name]: value })
      else change({ cursor: '', [name]: value }, true)
    },
    [change, name],
  )
  return [search[name] ?? '', set]
}
