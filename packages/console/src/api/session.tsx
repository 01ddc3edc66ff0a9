// The signed-in caller and their rights. The service enforces them; the console only hides buttons.

import { ApiError } from '@custos/client'
import { call } from '@custos/client/core'
import {
  identityAccept,
  identityLogout,
  identityMe,
  identitySignIn,
} from '@custos/client/operations'
import type { Caller } from '@custos/client/types'
import { useQueryClient } from '@tanstack/react-query'
import {
  createContext,
  type ReactNode,
  use,
  useCallback,
  useEffect,
  useMemo,
  useState,
} from 'react'
import { client, holdsCsrfToken, keepCsrfToken, whenSignedOut } from './connection.ts'

export type Scope = Caller['scopes'][number]

export interface Session {
  readonly caller: Caller
  /** Whether the caller's scopes cover a scope. */
  can(scope: Scope): boolean
  signOut(): Promise<void>
}

type Entry =
  | { readonly state: 'loading' }
  | { readonly state: 'out'; readonly ended: boolean }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'in'; readonly caller: Caller }

const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  const session = use(SessionContext)
  if (!session) throw new Error('a screen is shown to a caller only')
  return session
}

/** Whether scopes cover a scope, by the service's rule: `*` covers every scope of a tenant. */
function scopesCover(scopes: readonly Scope[], scope: Scope): boolean {
  if (scopes.includes(scope)) return true
  return scope !== 'admin:platform' && scopes.includes('*')
}

async function load(): Promise<Entry> {
  try {
    const caller = await call(client, identityMe)
    return { state: 'in', caller }
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return { state: 'out', ended: false }
    return { state: 'failed', error }
  }
}

export interface SessionGateProps {
  readonly loading: ReactNode
  readonly signIn: (ways: {
    /** Whether the session ended while it was in use. */
    readonly ended: boolean
    withKey(api_key: string): Promise<void>
    withInvitation(invitation: string): Promise<void>
  }) => ReactNode
  readonly failed: (error: unknown) => ReactNode
  readonly children: ReactNode
}

/**
 * The channel between the tabs of a browser. They share the session cookie, so a sign-in affects
 * all of them. Each tab sends its CSRF token, which is unique to the session, or null after a
 * sign-out.
 */
const tabs = new BroadcastChannel('custos.session')

/** The state of the session, which other tabs and refused requests change too. */
function useEntry() {
  const [entry, setEntry] = useState<Entry>({ state: 'loading' })
  const queries = useQueryClient()
  const enter = useCallback((next: Entry) => {
    keepCsrfToken(next.state === 'in' ? next.caller.csrf_token : null)
    setEntry(next)
  }, [])
  useEffect(() => {
    // Data of one caller must not be shown to the next.
    whenSignedOut(() => {
      queries.clear()
      keepCsrfToken(null)
      setEntry((last) => ({
        state: 'out',
        ended: last.state === 'in' || (last.state === 'out' && last.ended),
      }))
    })
    tabs.onmessage = async ({ data }) => {
      if (holdsCsrfToken(data)) return
      const next = await load()
      queries.clear()
      enter(next)
    }
    // A sign-in through a provider returns to this page, which loads the session.
    void load().then((next) => {
      enter(next)
      if (next.state === 'in') tabs.postMessage(next.caller.csrf_token)
    })
  }, [enter, queries])
  return { entry, enter, queries }
}

/** Shows its children if a caller is signed in, otherwise the sign-in form. */
export function SessionGate({ loading, signIn, failed, children }: SessionGateProps) {
  const { entry, enter, queries } = useEntry()
  const signedIn = (caller: Caller) => {
    enter({ state: 'in', caller })
    tabs.postMessage(caller.csrf_token)
  }
  const session = useMemo((): Session | null => {
    if (entry.state !== 'in') return null
    const { caller } = entry
    return {
      caller,
      can: (scope) => scopesCover(caller.scopes, scope),
      async signOut() {
        await call(client, identityLogout)
        tabs.postMessage(null)
        queries.clear()
        enter({ state: 'out', ended: false })
      },
    }
  }, [entry, enter, queries])
  if (entry.state === 'loading') return loading
  if (entry.state === 'failed') return failed(entry.error)
  if (!session)
    return signIn({
      ended: entry.state === 'out' && entry.ended,
      async withKey(api_key) {
        signedIn(await call(client, identitySignIn, { api_key }))
      },
      async withInvitation(invitation) {
        signedIn(await call(client, identityAccept, { invitation }))
      },
    })
  return (
    // The key resets the state for a new session: nothing that was shown or typed before remains.
    <SessionContext key={session.caller.csrf_token} value={session}>
      {children}
    </SessionContext>
  )
}
