// Who is signed in, and what they may do. The service judges; the console only hides buttons.

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
  /** Whether the caller's scopes cover one. */
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

/** As scopes cover one another on the service: `*` is everything within a tenant. */
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
    /** The session has ended while it was used. */
    readonly ended: boolean
    withKey(api_key: string): Promise<void>
    withInvitation(invitation: string): Promise<void>
  }) => ReactNode
  readonly failed: (error: unknown) => ReactNode
  readonly children: ReactNode
}

/**
 * The tabs of a browser share the cookie, so that a sign-in in one of them is one in all. Each
 * tells the others its CSRF token, of which every session has another one, and null once it has
 * signed out.
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
    // What another caller saw is not shown to the next one.
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
    // A sign-in elsewhere leads back to a page that loads.
    void load().then((next) => {
      enter(next)
      if (next.state === 'in') tabs.postMessage(next.caller.csrf_token)
    })
  }, [enter, queries])
  return { entry, enter, queries }
}

/** Shows its children to a caller, and the sign-in form to everybody else. */
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
    // Of another session: nothing of what was shown or typed before stays.
    <SessionContext key={session.caller.csrf_token} value={session}>
      {children}
    </SessionContext>
  )
}
