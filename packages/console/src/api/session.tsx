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
import { client, keepCsrfToken, whenSignedOut } from './connection.ts'

export type Scope = Caller['scopes'][number]

export interface Session {
  readonly caller: Caller
  /** Whether the caller's scopes cover one. */
  can(scope: Scope): boolean
  signOut(): Promise<void>
}

type Entry =
  | { readonly state: 'loading' }
  | { readonly state: 'out' }
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
    if (error instanceof ApiError && error.status === 401) return { state: 'out' }
    return { state: 'failed', error }
  }
}

export interface SessionGateProps {
  readonly loading: ReactNode
  readonly signIn: (ways: {
    withKey(api_key: string): Promise<void>
    withInvitation(invitation: string): Promise<void>
  }) => ReactNode
  readonly failed: (error: unknown) => ReactNode
  readonly children: ReactNode
}

/** Shows its children to a caller, and the sign-in form to everybody else. */
export function SessionGate({ loading, signIn, failed, children }: SessionGateProps) {
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
      enter({ state: 'out' })
    })
    void load().then(enter)
  }, [enter, queries])
  const session = useMemo((): Session | null => {
    if (entry.state !== 'in') return null
    const { caller } = entry
    return {
      caller,
      can: (scope) => scopesCover(caller.scopes, scope),
      async signOut() {
        await call(client, identityLogout)
        queries.clear()
        enter({ state: 'out' })
      },
    }
  }, [entry, enter, queries])
  if (entry.state === 'loading') return loading
  if (entry.state === 'failed') return failed(entry.error)
  if (!session)
    return signIn({
      async withKey(api_key) {
        enter({ state: 'in', caller: await call(client, identitySignIn, { api_key }) })
      },
      async withInvitation(invitation) {
        enter({ state: 'in', caller: await call(client, identityAccept, { invitation }) })
      },
    })
  return <SessionContext value={session}>{children}</SessionContext>
}
